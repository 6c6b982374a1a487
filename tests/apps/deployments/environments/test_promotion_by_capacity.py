"""An environment moves once the candidate carries what the current deployment carries."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from pytest_django import DjangoCaptureOnCommitCallbacks

from apps.deployments.environments.promoting import environment_promote
from apps.deployments.environments.promotion import PROGRESS_DEADLINE, environment_advance
from apps.deployments.environments.rolling.commands import promotion_cancel
from apps.deployments.environments.services import (
    environment_configure,
    environment_create,
    environment_delete,
)
from apps.deployments.models import Deployment, Environment
from apps.deployments.served_models.services import model_create
from apps.deployments.services.autoscaling import autoscaling_update
from apps.deployments.services.deployments import deployment_create
from apps.deployments.services.reconcile import deployment_settle
from apps.deployments.services.sweeping import deployments_sweep
from apps.fleet.models import Node
from controlplane import clock
from tests import factories
from tests.apps.pages import signed_in
from tests.apps.rest_client import client_of
from tests.factories_serving import BROKEN, GIB, make_servable_build, make_serving_node, node_says

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker"), pytest.mark.wide]


@pytest.fixture
def node() -> Node:
    return make_serving_node(memory_bytes=64 * GIB)


@pytest.fixture
def old(cast: factories.Cast, node: Node) -> Deployment:
    """Three ready replicas in production, so many by their own settings and the environment's."""
    build = make_servable_build(team=cast.team)
    _, made = model_create(team=cast.team, name="tiny", build=build)
    deployment_settle(deployment_id=made.id)
    _ready(node, _live(made))
    _scale(made, 3)
    _ready(node, _live(made))
    return _fresh(made)


@pytest.fixture
def new(cast: factories.Cast, node: Node, old: Deployment) -> Deployment:
    """Another deployment of the model, with its one replica ready."""
    made = deployment_create(model=old.model, build=make_servable_build(team=cast.team))
    deployment_settle(deployment_id=made.id)
    _ready(node, _live(made))
    return _fresh(made)


def test_it_switches_when_as_many_are_ready_as_carry_the_traffic(
    cast: factories.Cast, node: Node, old: Deployment, new: Deployment
) -> None:
    _promote(old, new)
    assert _production(old).current == old
    assert new.replicas.count() == 3, "ordered for the promotion, before the switch"
    assert _told(cast, old) == (
        1, 3, "1 of 3 needed replicas is ready; "
        "needed: as many as carry the traffic of `production` now."
    )  # fmt: skip
    for deployment in (old, new):
        page = f"/models/{old.model_id}/{deployment.id}/"
        shown = signed_in(cast.member).get(page).content.decode()
        assert "1 of 3 needed replicas is ready" in shown
        assert "traffic stays where it is" in shown
    assert (
        "1 of 3 needed" in signed_in(cast.member).get(f"/models/{old.model_id}/").content.decode()
    )

    _ready(node, _live(new)[:2])
    assert _production(old).current == old
    _ready(node, _live(new))
    assert _production(old).current == new
    deployments_sweep()
    assert (_fresh(new).wanted_replicas, _fresh(old).wanted_replicas) == (3, 0)


def test_the_traffic_of_now_counts_and_not_what_was_wanted(
    node: Node, old: Deployment, new: Deployment
) -> None:
    _promote(old, new)
    gone = _live(old)[0]
    _ready(node, _live(new)[:2])
    assert _production(old).current == old
    node_says(node, _states(node) | {gone.id: "failed"}, failure=BROKEN)
    deployments_sweep()
    assert _production(old).current == new


def test_where_the_environment_was_made_smaller_its_number_is_enough(
    node: Node, old: Deployment, new: Deployment
) -> None:
    Environment.objects.filter(id=_production(old).id).update(
        autoscaling_settings={"min_replica": 1, "max_replica": 1}
    )
    _promote(old, new)
    assert _production(old).current == new
    assert _fresh(new).wanted_replicas == 1


def test_a_candidate_that_was_made_smaller_where_the_environment_says_nothing_is_enough(
    cast: factories.Cast, node: Node, old: Deployment, new: Deployment
) -> None:
    Environment.objects.update(autoscaling_settings={})
    _scale(new, 2)
    _promote(old, new)
    assert _told(cast, old)[1:] == (
        2, "1 of 2 needed replicas is ready; "
        "needed: the 2 that `max_replica` allows; 3 carry the traffic now."
    )  # fmt: skip
    _ready(node, _live(new))
    assert _production(old).current == new
    assert _fresh(new).wanted_replicas == 2


def test_where_nobody_set_a_size_the_number_of_the_old_one_is_kept(
    node: Node, old: Deployment, new: Deployment
) -> None:
    Environment.objects.update(autoscaling_settings={})
    _promote(old, new)
    _ready(node, _live(new))
    assert _production(old).current == new
    assert (_fresh(new).min_replica, _fresh(new).wanted_replicas) == (3, 3)


def test_an_old_deployment_of_which_nothing_is_ready_holds_nothing_up(
    node: Node, old: Deployment, new: Deployment
) -> None:
    node_says(node, dict.fromkeys(_states(node, old), "failed") | _states(node, new))
    assert _fresh(old).state == "unhealthy"
    _promote(old, new)
    assert _production(old).current == new


def test_one_that_was_put_to_sleep_meanwhile_takes_no_traffic(
    cast: factories.Cast, old: Deployment, new: Deployment
) -> None:
    _promote(old, new)
    Environment.objects.filter(id=_production(old).id).update(
        autoscaling_settings={"min_replica": 1, "max_replica": 1}
    )
    Deployment.objects.filter(id=new.id).update(wanted_replicas=0)
    assert environment_advance(environment_id=_production(old).id) == []
    assert (_production(old).current, _fresh(new).wanted_replicas) == (old, 0)
    assert f"`{new.name}` was put to sleep" in _told(cast, old)[2]


def test_what_carries_the_traffic_at_once_has_its_replicas_ordered_at_once(
    node: Node, old: Deployment, new: Deployment,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:  # fmt: skip
    node_says(node, dict.fromkeys(_states(node, old), "failed") | _states(node, new))
    with django_capture_on_commit_callbacks(execute=True):
        environment_promote(environment=_production(old), deployment=new)
    assert _production(old).current == new
    assert _live(new).count() == _fresh(new).wanted_replicas == 3


def test_without_progress_it_is_given_up_and_the_old_one_serves_on(
    cast: factories.Cast, node: Node, old: Deployment, new: Deployment
) -> None:
    started = clock.now()
    with time_machine.travel(started, tick=False):
        _promote(old, new)
    Node.objects.update(cordoned=True)
    nearly = started + PROGRESS_DEADLINE - timedelta(seconds=1)
    with time_machine.travel(nearly, tick=False):
        _ready(node, _live(new)[:2])
    with time_machine.travel(nearly + PROGRESS_DEADLINE - timedelta(seconds=1), tick=False):
        deployments_sweep()
        assert _production(old).candidate == new, "one more became ready, which is progress"
    with time_machine.travel(nearly + PROGRESS_DEADLINE, tick=False):
        deployments_sweep()
    production = _production(old)
    assert (production.current, production.candidate) == (old, None)
    assert production.promotion["status"] == "FAILED"
    assert "2 of 3 needed replicas are ready" in production.promotion["error_message"]
    assert "No more became ready for 60 minutes." in production.promotion["error_message"]
    assert _fresh(new).wanted_replicas == 1, "as before"
    ready = old.replicas.filter(state="ready", wanted="running")
    assert ready.count() == 3
    page = f"/models/{old.model_id}/{old.id}/"
    assert "No more became ready" in signed_in(cast.member).get(page).content.decode()


def test_a_candidate_that_fails_for_good_leaves_the_old_one_serving(
    old: Deployment, new: Deployment
) -> None:
    _promote(old, new)
    Deployment.objects.filter(id=new.id).update(state="deploy_failed", failure=BROKEN.to_json())
    deployments_sweep()
    assert (_production(old).current, _production(old).candidate) == (old, None)
    assert BROKEN.sentence in _production(old).promotion["error_message"]


def test_cancelling_gives_the_candidate_its_own_size_back(old: Deployment, new: Deployment) -> None:
    _promote(old, new)
    assert _fresh(new).wanted_replicas == 3
    promotion_cancel(environment=_production(old))
    deployment_settle(deployment_id=new.id)
    assert _fresh(new).wanted_replicas == 1
    assert _live(new).filter(wanted="running").count() == 1


def test_deleting_the_environment_does_so_too(old: Deployment, new: Deployment) -> None:
    place = environment_create(model=old.model, name="staging")
    Environment.objects.filter(id=place.id).update(candidate=new)
    Deployment.objects.filter(id=new.id).update(wanted_replicas=3)
    environment_delete(environment=place)
    assert _fresh(new).wanted_replicas == 1


def test_what_was_promoted_before_this_release_goes_on(
    node: Node, old: Deployment, new: Deployment
) -> None:
    Environment.objects.filter(id=_production(old).id).update(
        candidate=new, promotion={"status": "RELEASING", "percent_traffic_to_new_version": 0}
    )
    deployments_sweep()
    assert "gives_up_at" in _production(old).promotion
    environment_configure(
        environment=_production(old), promotion_settings={"promotion_cleanup_strategy": "KEEP"}
    )
    _ready(node, _live(new))
    deployments_sweep()
    assert _production(old).current == new


def _promote(old: Deployment, new: Deployment) -> None:
    environment_promote(environment=_production(old), deployment=new)
    deployment_settle(deployment_id=new.id)


def _scale(deployment: Deployment, count: int) -> None:
    changes = {"min_replica": count, "max_replica": count}
    autoscaling_update(deployment=deployment, changes=changes)
    deployment_settle(deployment_id=deployment.id)


def _ready(node: Node, replicas: Sequence[Any]) -> None:
    node_says(node, _states(node) | {each.id: "ready" for each in replicas})


def _states(node: Node, deployment: Deployment | None = None) -> dict[str, str]:
    rows = node.replicas.exclude(state__in=["failed", "stopped"])
    if deployment is not None:
        rows = rows.filter(deployment=deployment)
    known = {"ordered": "starting"}
    return {each.id: known.get(each.state, each.state) for each in rows}


def _live(deployment: Deployment) -> Any:
    rows = deployment.replicas.exclude(state__in=["failed", "stopped", "draining"])
    return rows.order_by("ordered_at", "id")


def _fresh(deployment: Deployment) -> Deployment:
    return Deployment.objects.get(id=deployment.id)


def _production(deployment: Deployment) -> Environment:
    return Environment.objects.get(model_id=deployment.model_id, name="production")


def _told(cast: factories.Cast, deployment: Deployment) -> tuple[Any, ...]:
    path = f"/v1/models/{deployment.model_id}/environments/production"
    in_progress_promotion = client_of(cast.member).get(path)[1]["in_progress_promotion"]
    assert in_progress_promotion["gives_up_at"]
    return (
        in_progress_promotion["ready_replicas"],
        in_progress_promotion["needed_replicas"],
        in_progress_promotion["waits_for"],
    )
