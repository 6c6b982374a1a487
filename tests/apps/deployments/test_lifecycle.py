"""From a build to a ready replica, and back to nothing."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from apps.accounts.models import Team
from apps.accounts.routes_version import routes_version_current
from apps.builds.models import Build
from apps.deployments.models import Deployment, Environment, FailedStarts, Replica, ServedModel
from apps.deployments.served_models.services import model_create
from apps.deployments.services.builds import deployments_after_build
from apps.deployments.services.deployments import (
    deployment_activate,
    deployment_deactivate,
    deployment_retry,
)
from apps.deployments.services.reconcile import deployment_settle
from apps.deployments.services.sweeping import deployments_sweep
from apps.fleet.models import DeviceLease, Node
from apps.fleet.services.gateways import gateway_applied
from controlplane import clock
from controlplane.domain.failures import Blame, Failure
from controlplane.domain.lifecycle import BuildState
from tests.factories import make_artifact, make_build
from tests.factories_serving import CHECKPOINT, GIB, listened, make_gateway, make_serving_node

pytestmark = pytest.mark.django_db

Served = tuple[ServedModel, Deployment]
Say = Callable[..., None]
FAILED = Failure(code="EHN-X", blame=Blame.MACHINE, sentence="No memory left.")


def test_a_finished_build_is_ordered_on_a_node(served: Served, node: Node) -> None:
    _, deployment = served
    replica = deployment.replicas.get()
    assert deployment.state == "deploying"
    assert (replica.node, replica.state, replica.wanted) == (node, "ordered", "running")
    lease = DeviceLease.objects.get(holder=f"replica:{replica.id}")
    assert lease.memory_bytes == replica.memory_bytes > CHECKPOINT["weight_bytes"]
    node.refresh_from_db()
    assert node.wanted_version == 1


def test_the_states_of_a_start_are_shown_and_end_in_active(served: Served, say: Say) -> None:
    _, deployment = served
    replica = deployment.replicas.get()
    for reported, shown in (
        ("starting", "loading_model"),
        ("loading", "loading_model"),
        ("ready", "active"),
    ):
        say({replica.id: reported})
        assert _state(deployment) == shown
    deployment.refresh_from_db()
    assert deployment.active_since is not None


def test_the_first_deployment_becomes_production_once_it_is_ready(served: Served, say: Say) -> None:
    model, deployment = served
    production = Environment.objects.get(model=model, name="production")
    assert (production.current, production.candidate) == (None, deployment)
    before = routes_version_current()
    say({deployment.replicas.get().id: "ready"})
    production.refresh_from_db()
    assert (production.current, production.candidate) == (deployment, None)
    assert production.promotion is None
    assert routes_version_current() > before


def test_a_deployment_waits_for_its_build_and_goes_on_by_itself(team: Team, node: Node) -> None:
    build = make_build(team=team, state=BuildState.PACKAGING)
    _, deployment = model_create(team=team, name="m", build=build)
    deployments_sweep()
    assert _state(deployment) == "building"
    _finish(build)
    deployments_sweep()
    assert _state(deployment) == "deploying"
    deployment.refresh_from_db()
    assert deployment.checkpoint == CHECKPOINT
    assert deployment.replicas.count() == 1


def test_a_failed_build_fails_its_deployment_with_the_cause(team: Team) -> None:
    build = make_build(team=team, state=BuildState.FETCHING)
    _, deployment = model_create(team=team, name="m", build=build)
    Build.objects.filter(id=build.id).update(state=BuildState.FAILED, failure=FAILED.to_json())
    deployments_after_build(build_id=build.id)
    deployment.refresh_from_db()
    assert deployment.state == "build_failed"
    assert deployment.failure == FAILED.to_json()
    production = Environment.objects.get(model=deployment.model)
    assert production.promotion["status"] == "FAILED"
    assert "No memory left." in production.promotion["error_message"]


def test_a_build_that_is_tried_again_takes_its_deployment_with_it(team: Team, node: Node) -> None:
    build = make_build(team=team, state=BuildState.FETCHING)
    _, deployment = model_create(team=team, name="m", build=build)
    Build.objects.filter(id=build.id).update(state=BuildState.FAILED)
    deployments_sweep()
    Build.objects.filter(id=build.id).update(state=BuildState.QUEUED)
    deployments_sweep()
    assert _state(deployment) == "building"
    _finish(build)
    deployments_sweep()
    deployment.replicas.update(state="ready")
    deployments_sweep()
    assert Environment.objects.get(model=deployment.model).current == deployment


def test_without_a_node_the_deployment_says_what_it_waits_for(team: Team, build: Build) -> None:
    _, deployment = model_create(team=team, name="m", build=build)
    deployments_sweep()
    deployment.refresh_from_db()
    assert deployment.state == "deploying"
    assert deployment.failure["code"] == "EHD-NO-NODE"
    assert "`CPU`" in deployment.failure["sentence"]
    make_serving_node()
    deployments_sweep()
    deployment.refresh_from_db()
    assert deployment.failure is None
    assert deployment.replicas.count() == 1


@pytest.mark.parametrize(
    "changes",
    [
        {"cordoned": True},
        {"memory_bytes": GIB // 2},
        {"pool": "other"},
        {"last_heartbeat_at": datetime(2026, 4, 1, tzinfo=UTC)},
    ],
)
def test_a_node_that_cannot_take_it_is_passed_over(
    team: Team, build: Build, changes: dict[str, object]
) -> None:
    make_serving_node(**changes)
    listened()
    _, deployment = model_create(team=team, name="m", build=build)
    deployments_sweep()
    deployment.refresh_from_db()
    assert deployment.replicas.count() == 0
    assert deployment.failure["code"] in {"EHD-NO-NODE", "EHD-NO-ROOM"}


def test_starts_that_fail_are_spaced_out_and_end_with_the_cause(served: Served, say: Say) -> None:
    _, deployment = served
    for count in (1, 2, 3):
        replica = deployment.replicas.exclude(state="failed").get()
        say({replica.id: "failed"}, failure=FAILED)
        deployment.refresh_from_db()
        assert deployment.start_failures == count
        assert deployment.replicas.count() == count, "the next start waits"
        deployment.replicas.update(finished_at=clock.now() - timedelta(minutes=2))
        FailedStarts.objects.update(retry_at=clock.now())
        deployments_sweep()
    deployment.refresh_from_db()
    assert deployment.state == "deploy_failed"
    assert deployment.failure == FAILED.to_json()
    assert deployment.replicas.count() == 3
    assert not DeviceLease.objects.filter(released_at=None).exists()


def test_retry_starts_over(served: Served, say: Say) -> None:
    _, deployment = served
    Deployment.objects.filter(id=deployment.id).update(state="deploy_failed", start_failures=3)
    assert deployment_retry(deployment=deployment) == (True, None)
    deployment.refresh_from_db()
    assert (deployment.state, deployment.start_failures) == ("deploying", 0)


def test_a_ready_replica_that_fails_is_replaced_at_once(served: Served, say: Say) -> None:
    _, deployment = served
    first = deployment.replicas.get()
    say({first.id: "ready"})
    say({first.id: "failed"}, failure=FAILED)
    deployment.refresh_from_db()
    assert deployment.state == "unhealthy"
    assert deployment.failure == FAILED.to_json()
    second = deployment.replicas.exclude(id=first.id).get()
    assert second.state == "ordered"
    say({second.id: "ready"})
    deployment.refresh_from_db()
    assert (deployment.state, deployment.failure) == ("active", None)


def test_a_replica_that_its_node_has_forgotten_is_replaced(served: Served, say: Say) -> None:
    _, deployment = served
    first = deployment.replicas.get()
    say({first.id: "ready"})
    say({})
    first.refresh_from_db()
    assert first.state == "failed"
    assert first.failure["code"] == "EHD-GONE"
    assert deployment.replicas.filter(state="ordered").count() == 1


def test_deactivation_takes_the_replica_out_of_the_routes_before_it_stops(
    served: Served, say: Say
) -> None:
    _, deployment = served
    replica = deployment.replicas.get()
    say({replica.id: "ready"})
    gateway = make_gateway(applied_version=routes_version_current())
    assert deployment_deactivate(deployment=deployment)
    deployment_settle(deployment_id=deployment.id)
    replica.refresh_from_db()
    assert (replica.state, replica.wanted) == ("draining", "running")
    deployments_sweep()
    replica.refresh_from_db()
    assert replica.wanted == "running", "the gateway still works by the old routes"
    gateway_applied(gateway=gateway, version=routes_version_current())
    deployments_sweep()
    replica.refresh_from_db()
    assert replica.wanted == "stopped"
    say({replica.id: "draining"})
    assert _state(deployment) == "deactivating"
    say({replica.id: "stopped"})
    assert _state(deployment) == "inactive"
    assert not DeviceLease.objects.filter(released_at=None).exists()


def test_without_a_live_gateway_nothing_is_waited_for(served: Served, say: Say) -> None:
    _, deployment = served
    replica = deployment.replicas.get()
    say({replica.id: "ready"})
    make_gateway(last_seen_at=clock.now() - timedelta(minutes=1))
    listened()
    deployment_deactivate(deployment=deployment)
    deployment_settle(deployment_id=deployment.id)
    deployments_sweep()
    replica.refresh_from_db()
    assert replica.wanted == "stopped"


def test_an_inactive_deployment_comes_back(served: Served, say: Say) -> None:
    _, deployment = served
    Replica.objects.update(state="stopped")
    Deployment.objects.update(state="inactive", wanted_replicas=0)
    assert deployment_activate(deployment=deployment)
    deployment_settle(deployment_id=deployment.id)
    assert _state(deployment) == "deploying"
    assert deployment.replicas.filter(state="ordered").count() == 1


def _state(deployment: Deployment) -> str:
    return str(Deployment.objects.values_list("state", flat=True).get(id=deployment.id))


def _finish(build: Build) -> None:
    artifact = make_artifact(team=build.team)
    Build.objects.filter(id=build.id).update(state=BuildState.SUCCEEDED, artifact=artifact)
    build.steps.filter(name="inspect").update(result={"checkpoint": CHECKPOINT})
