"""An environment moves to a ready candidate, and the old one ends when all gateways know."""

from collections.abc import Callable

import pytest

from apps.accounts.models import Team
from apps.accounts.routes_version import routes_version_current
from apps.deployments.environments.promoting import environment_promote
from apps.deployments.environments.rolling.commands import promotion_cancel
from apps.deployments.environments.services import (
    environment_configure,
    environment_create,
)
from apps.deployments.models import Deployment, Environment, Replica, ServedModel
from apps.deployments.served_models.services import model_delete
from apps.deployments.services.deleting import deployment_delete
from apps.deployments.services.deployments import deployment_create
from apps.deployments.services.reconcile import deployment_settle
from apps.deployments.services.sweeping import deployments_sweep
from apps.fleet.models import DeviceLease
from apps.fleet.services.gateways import gateway_applied
from apps.rest.errors import Conflict
from controlplane import clock
from tests.factories_serving import make_gateway, make_servable_build

pytestmark = pytest.mark.django_db

Served = tuple[ServedModel, Deployment]
Say = Callable[..., None]


@pytest.fixture
def second(served: Served, say: Say, team: Team) -> Deployment:
    """Another deployment of the model, ready beside the one in production."""
    model, first = served
    say({first.replicas.get().id: "ready"})
    deployment = deployment_create(model=model, build=make_servable_build(team=team))
    deployment_settle(deployment_id=deployment.id)
    say({first.replicas.get().id: "ready", deployment.replicas.get().id: "ready"})
    return deployment


def test_deployments_are_numbered(served: Served, second: Deployment) -> None:
    assert [served[1].name, second.name] == ["deployment-1", "deployment-2"]


def test_a_second_deployment_does_not_take_production_by_itself(
    served: Served, second: Deployment
) -> None:
    assert _production(served).current == served[1]
    assert _production(served).candidate is None


def test_promotion_points_at_the_candidate_and_keeps_the_old_one_until_gateways_know(
    served: Served, second: Deployment, say: Say
) -> None:
    _, first = served
    gateway = make_gateway(applied_version=routes_version_current())
    environment_promote(environment=_production(served), deployment=second)
    deployment_settle(deployment_id=second.id)
    production = _production(served)
    assert (production.current, production.retiring) == (second, first)
    assert production.promotion_version == routes_version_current()
    assert production.promotion["percent_traffic_to_new_version"] == 100

    deployments_sweep()
    assert first.replicas.get().state == "ready", "the gateway still sends requests there"

    gateway_applied(gateway=gateway, version=routes_version_current())
    deployments_sweep()
    production = _production(served)
    assert (production.retiring, production.promotion) == (None, None)
    old = first.replicas.get()
    assert (old.state, old.wanted) == ("draining", "running")

    gateway_applied(gateway=gateway, version=routes_version_current())
    deployments_sweep()
    assert first.replicas.get().wanted == "stopped"
    say({second.replicas.get().id: "ready", old.id: "stopped"})
    first.refresh_from_db()
    assert first.state == "scaled_to_zero"
    assert DeviceLease.objects.filter(released_at=None).count() == 1


def test_a_candidate_that_is_not_ready_does_not_take_over(
    served: Served, say: Say, team: Team
) -> None:
    model, first = served
    say({first.replicas.get().id: "ready"})
    build = make_servable_build(team=team)
    candidate = deployment_create(model=model, build=build, environment="production")
    deployment_settle(deployment_id=candidate.id)
    production = _production(served)
    assert (production.current, production.candidate) == (first, candidate)
    say({first.replicas.get().id: "ready", candidate.replicas.get().id: "ready"})
    assert _production(served).current == candidate


def test_a_candidate_that_fails_leaves_traffic_where_it_was(
    served: Served, second: Deployment
) -> None:
    environment = environment_create(model=served[0], name="staging")
    Deployment.objects.filter(id=second.id).update(state="deploying")
    environment_promote(environment=environment, deployment=second)
    failure = {"sentence": "It broke."}
    Deployment.objects.filter(id=second.id).update(state="deploy_failed", failure=failure)
    deployments_sweep()
    environment.refresh_from_db()
    assert (environment.current, environment.candidate) == (None, None)
    assert environment.promotion["status"] == "FAILED"
    assert "It broke." in environment.promotion["error_message"]


def test_one_promotion_at_a_time(served: Served, second: Deployment, team: Team) -> None:
    third = deployment_create(model=served[0], build=make_servable_build(team=team))
    Deployment.objects.filter(id=second.id).update(state="deploying")
    environment_promote(environment=_production(served), deployment=second)
    with pytest.raises(Conflict, match="already being promoted"):
        environment_promote(environment=_production(served), deployment=third)
    assert promotion_cancel(environment=_production(served))
    environment_promote(environment=_production(served), deployment=third)


def test_a_deployment_that_serves_elsewhere_is_copied(served: Served, say: Say) -> None:
    model, first = served
    say({first.replicas.get().id: "ready"})
    staging = environment_create(model=model, name="staging")
    copy = environment_promote(environment=staging, deployment=first)
    assert copy.id != first.id
    assert (copy.artifact, copy.spec, copy.name) == (first.artifact, first.spec, "deployment-2")
    deployment_settle(deployment_id=copy.id)
    assert copy.replicas.get().state == "ordered"


@pytest.mark.parametrize(
    ("strategy", "state", "running"),
    [("KEEP", "active", True), ("DEACTIVATE", "deactivating", False)],
)
def test_cleanup_follows_the_environment(
    served: Served, second: Deployment, strategy: str, state: str, running: bool
) -> None:
    _, first = served
    environment_configure(
        environment=_production(served),
        promotion_settings={"promotion_cleanup_strategy": strategy},
    )
    environment_promote(environment=_production(served), deployment=second)
    deployment_settle(deployment_id=second.id)
    deployments_sweep()
    first.refresh_from_db()
    assert first.state == state
    assert (first.replicas.get().state == "ready") is running


def test_going_back_wakes_the_old_deployment(served: Served, second: Deployment, say: Say) -> None:
    _, first = served
    environment_promote(environment=_production(served), deployment=second)
    deployment_settle(deployment_id=second.id)
    deployments_sweep()
    say({second.replicas.get().id: "ready", first.replicas.get().id: "stopped"})
    environment_promote(environment=_production(served), deployment=first)
    deployment_settle(deployment_id=first.id)
    first.refresh_from_db()
    assert first.state == "waking_up"
    fresh = first.replicas.get(state="ordered")
    say({second.replicas.get().id: "ready", fresh.id: "ready"})
    assert _production(served).current == first


def test_what_runs_is_not_deleted(served: Served) -> None:
    model, first = served
    with pytest.raises(Conflict, match="points at deployment"):
        deployment_delete(deployment=first)
    Deployment.objects.filter(id=first.id).update(state="inactive")
    with pytest.raises(Conflict, match="still runs"):
        deployment_delete(deployment=first)
    with pytest.raises(Conflict, match="`deployment-1`"):
        model_delete(model=model)
    Replica.objects.update(state="stopped", finished_at=clock.now())
    deployment_delete(deployment=first)
    model_delete(model=model)


def _production(served: Served) -> Environment:
    return Environment.objects.get(model=served[0], name="production")
