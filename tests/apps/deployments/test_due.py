"""What changed is reconciled within a round, whoever changed it, and nothing else is looked at."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.deployments.models import Deployment, FailedStarts, Replica, ServedModel, SweepRecord
from apps.deployments.served_models.services import model_create
from apps.deployments.services.net import ROUNDS_FOR_ALL, net_check
from apps.deployments.services.reconcile import deployment_settle
from apps.deployments.services.sweeping import deployments_sweep
from apps.fleet.models import DeviceLease, Node
from apps.fleet.services.devices import devices_release
from apps.fleet.services.placing import node_drain, node_undrain
from controlplane import clock
from tests.factories import make_deployment, make_replica
from tests.factories_serving import (
    BROKEN,
    make_gateway,
    make_servable_build,
    make_serving_node,
    node_says,
)
from tests.manual_clock import ManualClock

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]
Served = tuple[ServedModel, Deployment]
Say = Callable[..., None]


@pytest.fixture
def at_rest(served: Served, say: Say) -> Deployment:
    """A deployment with the one ready replica that it wants, and nothing left to do."""
    deployment = served[1]
    say({deployment.replicas.get().id: "ready"})
    deployments_sweep()
    return _fresh(deployment)


def test_a_deployment_at_rest_is_waited_for_by_nobody(at_rest: Deployment) -> None:
    assert (at_rest.marked_at, at_rest.reconcile_at, at_rest.room_seen) == (None, None, None)


@pytest.mark.parametrize(
    "change", [{"wanted_replicas": 2}, {"state": "unhealthy"}, {"generation": 2}]
)
def test_a_row_that_somebody_changed_is_reconciled_in_the_next_round(
    at_rest: Deployment, change: dict[str, Any]
) -> None:
    Deployment.objects.filter(id=at_rest.id).update(**change)
    assert _fresh(at_rest).marked_at is not None
    deployments_sweep()
    assert _fresh(at_rest).state == "active"
    if "state" not in change:
        assert at_rest.replicas.filter(state="ordered").count() == 1


def test_a_replica_that_somebody_changed_calls_for_its_deployment(at_rest: Deployment) -> None:
    Replica.objects.filter(deployment=at_rest).update(state="failed", finished_at=clock.now())
    deployments_sweep()
    assert _fresh(at_rest).state == "unhealthy"
    assert at_rest.replicas.filter(state="ordered").count() == 1


def test_a_round_in_which_nothing_changed_asks_no_more_of_many_than_of_few(
    at_rest: Deployment,
) -> None:
    few = _queries_of_a_round()
    for _ in range(5):
        make_replica(deployment=make_deployment(model=at_rest.model), node=_node_of(at_rest))
    assert _queries_of_a_round() == few


def test_who_found_no_room_is_tried_again_once_there_is_some_and_not_before(
    at_rest: Deployment,
) -> None:
    waiting = _without_room(at_rest)
    _rounds(2)
    seen = _fresh(waiting).room_seen
    assert seen
    with _counted_settles() as settled:
        deployments_sweep()
    assert settled == []
    devices_release(holder=at_rest.replicas.get(state="ready").device_holder)
    deployments_sweep()
    assert waiting.replicas.get().state == "ordered"
    assert _fresh(waiting).room_seen is None


def test_another_node_is_room_too(at_rest: Deployment) -> None:
    waiting = _without_room(at_rest)
    _rounds(2)
    node = make_serving_node()
    deployments_sweep()
    assert waiting.replicas.get().node == node


def test_a_wait_that_ends_by_time_ends_by_time(served: Served, say: Say) -> None:
    deployment = served[1]
    say({deployment.replicas.get().id: "failed"}, failure=BROKEN)
    _rounds(2)
    due_at = _fresh(deployment).reconcile_at
    assert due_at is not None
    with time_machine.travel(due_at - timedelta(milliseconds=1), tick=False):
        deployments_sweep()
        assert deployment.replicas.count() == 1
    with time_machine.travel(due_at + timedelta(milliseconds=1), tick=False):
        _hear_again(deployment)
        deployments_sweep()
        assert deployment.replicas.count() == 2


def test_starts_that_are_forgiven_let_a_waiting_deployment_start(served: Served, say: Say) -> None:
    deployment = served[1]
    say({deployment.replicas.get().id: "failed"}, failure=BROKEN)
    _rounds(2)
    FailedStarts.objects.all().delete()
    Replica.objects.update(finished_at=clock.now() - timedelta(minutes=2))
    deployments_sweep()
    assert deployment.replicas.exclude(state="failed").count() == 1


def test_a_drained_node_is_left_and_one_that_is_drained_no_more_is_not(
    at_rest: Deployment,
) -> None:
    node = _node_of(at_rest)
    other = make_serving_node()
    node_drain(node=node)
    deployments_sweep()
    moved = at_rest.replicas.get(state="ordered")
    assert moved.node == other
    node_undrain(node=node)
    node_says(other, {moved.id: "ready"})
    assert at_rest.replicas.filter(state="ready").count() == 1


def test_a_drained_replica_ends_once_the_gateway_has_applied_it(at_rest: Deployment) -> None:
    gateway = make_gateway(applied_version=0)
    Deployment.objects.filter(id=at_rest.id).update(wanted_replicas=0)
    _rounds(3)
    leaving = at_rest.replicas.get()
    assert (leaving.state, leaving.wanted) == ("draining", "running")
    gateway.applied_version = leaving.drain_version
    gateway.save()
    deployments_sweep()
    assert at_rest.replicas.get().wanted == "stopped"


def test_a_round_ends_in_time_and_the_longest_waiting_come_first_in_the_next(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = [make_deployment(model=served[0], state="deploying") for _ in range(4)]
    settled: list[str] = []
    manual = ManualClock()

    def settle(*, deployment_id: str, room: str) -> None:
        settled.append(deployment_id)
        Deployment.objects.filter(id=deployment_id).update(marked_at=None)
        manual.advance(1.5)

    Deployment.objects.update(marked_at=None)
    for place, each in enumerate(others):
        moment = clock.now() - timedelta(seconds=10 - place)
        Deployment.objects.filter(id=each.id).update(marked_at=moment)
    monkeypatch.setattr("apps.deployments.services.sweeping.deployment_settle", settle)
    for _ in range(2):
        deployments_sweep(clock=manual)
    assert settled == [each.id for each in others]


def test_what_the_check_of_everything_finds_is_settled_and_counted(at_rest: Deployment) -> None:
    _in_silence("deployments_deployment", at_rest.id, "wanted_replicas", 2)
    _check_everything()
    record = SweepRecord.objects.get()
    assert (record.missed, record.missed_deployment) == (1, at_rest.id)
    assert at_rest.replicas.filter(state="ordered").count() == 1


def test_what_is_marked_is_not_missed(at_rest: Deployment) -> None:
    Deployment.objects.filter(id=at_rest.id).update(wanted_replicas=2)
    _check_everything()
    assert SweepRecord.objects.get().missed == 0


def test_the_check_goes_round_in_slices(at_rest: Deployment, monkeypatch: Any) -> None:
    monkeypatch.setattr("apps.deployments.services.net._FEWEST", 1)
    for _ in range(2):
        make_deployment(model=at_rest.model, state="inactive")
    ids = sorted(Deployment.objects.values_list("id", flat=True))
    SweepRecord.objects.update(checked_to="")
    seen = []
    for _ in range(5):
        net_check(room="", is_time_left=lambda: True)
        seen.append(SweepRecord.objects.get().checked_to)
    assert seen == [*ids, "", ids[0]]
    assert ROUNDS_FOR_ALL == 200


@contextmanager
def _counted_settles() -> Iterator[list[str]]:
    settled: list[str] = []

    def settle(*, deployment_id: str, room: str) -> bool:
        settled.append(deployment_id)
        return deployment_settle(deployment_id=deployment_id, room=room)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("apps.deployments.services.sweeping.deployment_settle", settle)
        yield settled


def _queries_of_a_round() -> int:
    _rounds(2)
    SweepRecord.objects.update(checked_to="")
    with CaptureQueriesContext(connection) as round:
        deployments_sweep()
    return len(round)


def _check_everything() -> None:
    SweepRecord.objects.update(checked_to="")
    net_check(room="", is_time_left=lambda: True)


def _in_silence(table: str, id: str, column: str, value: object) -> None:
    """Change a row as nothing in the product can: no trigger of it fires."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute(f"UPDATE {table} SET {column} = %s WHERE id = %s", [value, id])
        cursor.execute("SET LOCAL session_replication_role = origin")


def _without_room(deployment: Deployment) -> Deployment:
    """Return another deployment that wants one replica, on a node that is full."""
    node = _node_of(deployment)
    lease = DeviceLease.objects.get(released_at=None)
    lease.memory_bytes = lease.device.memory_bytes
    lease.save()
    team = deployment.model.team
    _, made = model_create(team=team, name="next", build=make_servable_build(team=team))
    deployment_settle(deployment_id=made.id)
    assert not made.replicas.exists()
    assert node.devices.count() == 1
    return made


def _hear_again(deployment: Deployment) -> None:
    Node.objects.update(last_heartbeat_at=clock.now())


def _node_of(deployment: Deployment) -> Node:
    return Node.objects.get(replicas__deployment=deployment)


def _rounds(count: int) -> None:
    for _ in range(count):
        deployments_sweep()


def _fresh(deployment: Deployment) -> Deployment:
    return Deployment.objects.get(id=deployment.id)
