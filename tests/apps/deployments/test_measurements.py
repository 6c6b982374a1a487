"""What a node reports of many replicas is stored at once, and only where it says something else."""

import threading
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from apps.accounts.routes_version import routes_version_bump, routes_version_current
from apps.deployments.models import Replica
from apps.deployments.services.observing import ReplicaReport, replicas_observe
from apps.fleet.models import Node
from controlplane.domain.lifecycle import ReplicaState
from tests.factories import make_deployment, make_replica
from tests.factories_serving import make_serving_node
from tests.routes_named import named_after
from tests.waiting import DEADLINE_SECONDS, wait_for

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]


@pytest.fixture
def node() -> Node:
    made = make_serving_node()
    for number in range(12):
        make_replica(node=made, port=9000 + number, pid=number)
    return made


def test_a_report_asks_no_more_of_many_than_of_few(node: Node) -> None:
    few = make_serving_node()
    make_replica(node=few, port=9000, pid=0)
    statements = [_statements(each, metrics={"requests_running": 1.0}) for each in (few, node)]
    assert statements[0] == statements[1]


def test_only_what_says_something_else_is_written(node: Node) -> None:
    _report(node)
    before = dict(Replica.objects.values_list("id", "observed_at"))
    other = Replica.objects.order_by("id").first()
    assert other is not None
    _report(node, only={other.id: {"metrics": {"requests_running": 2.0}}})
    after = dict(Replica.objects.values_list("id", "observed_at"))
    assert {id for id in after if after[id] != before[id]} == {other.id}
    assert Replica.objects.get(id=other.id).metrics == {"requests_running": 2.0}


def test_what_is_not_said_again_is_kept(node: Node) -> None:
    _report(node, report={"version": "1"}, metrics={"requests_running": 1.0})
    _report(node)
    kept = Replica.objects.values_list("report", "metrics").distinct()
    assert list(kept) == [({"version": "1"}, {"requests_running": 1.0})]


def test_what_is_said_of_anothers_replica_or_generation_is_not_stored(node: Node) -> None:
    strange = make_replica(node=make_serving_node(), pid=1)
    older = Replica.objects.filter(node=node).order_by("id")[0]
    lines = [
        _said(strange, pid=7),
        *(_said(each, generation=9 if each.id == older.id else 1) for each in _of(node)),
    ]
    replicas_observe(node=node, reports=lines)
    assert Replica.objects.get(id=strange.id).pid == 1


def test_a_ready_replica_that_answers_elsewhere_is_told_to_gateways(node: Node) -> None:
    _report(node)
    version, moved = _bumped(), _of(node)[0]
    _report(node, only={moved.id: {"port": 9999}})
    assert routes_version_current() == version + 1
    assert named_after(version) == {
        "replicas": [moved.id],
        "deployments": [moved.deployment_id],
    }


def test_an_engine_that_tells_another_version_is_told_to_gateways(node: Node) -> None:
    version, report = _bumped(), _of(node)[0]
    _report(node, only={report.id: {"report": {"version": "2"}}})
    assert (named_after(version) or {})["deployments"] == [report.deployment_id]


def test_the_node_was_heard_though_nothing_was_written(node: Node) -> None:
    _report(node)
    replicas_heard_at = Node.objects.get(id=node.id).replicas_heard_at
    _report(node)
    again = Node.objects.get(id=node.id).replicas_heard_at
    assert replicas_heard_at is not None
    assert again is not None
    assert again > replicas_heard_at
    replica = _of(node)[0]
    assert replica.heard_at == again


@pytest.mark.recovery
@pytest.mark.django_db(transaction=True)
def test_a_report_waits_for_who_locks_replicas_in_their_order(broker: str) -> None:
    """Whoever holds the first and asks for the second must not meet a report that does not."""
    node, deployment = make_serving_node(), make_deployment()
    # Stored in the other order than that of their ids.
    second, first = (
        make_replica(node=node, deployment=deployment, id=id, port=9000)
        for id in ("bbbbb", "aaaaa")
    )
    failures: list[BaseException] = []

    def report() -> None:
        try:
            _report(node, pid=5)
        except BaseException as error:
            failures.append(error)
        finally:
            connection.close()

    thread = threading.Thread(target=report)
    with transaction.atomic():
        Replica.objects.select_for_update(no_key=True).get(id=first.id)
        thread.start()
        wait_for(_somebody_waits, what="the report waiting for a lock")
        Replica.objects.select_for_update(no_key=True).get(id=second.id)
    thread.join(DEADLINE_SECONDS)
    assert failures == []
    assert set(Replica.objects.values_list("pid", flat=True)) == {5}


def _bumped() -> int:
    """Return a version from which on all changes are named."""
    with transaction.atomic():
        return routes_version_bump()


def _somebody_waits() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM pg_locks WHERE NOT granted")
        return cursor.fetchone() is not None


def _statements(node: Node, **more: Any) -> int:
    with CaptureQueriesContext(connection) as capture_queries_context:
        _report(node, **more)
    return len(capture_queries_context)


def _report(node: Node, *, only: dict[str, dict[str, Any]] | None = None, **more: Any) -> None:
    """Report all replicas of the node as they are, but for what is given."""
    words = [_said(each, **more, **(only or {}).get(each.id, {})) for each in _of(node)]
    replicas_observe(node=node, reports=words)


def _said(replica: Replica, **changes: Any) -> ReplicaReport:
    values = {
        "id": replica.id, "generation": replica.generation, "state": ReplicaState.READY,
        "host": replica.host, "port": replica.port, "pid": replica.pid,
    }  # fmt: skip
    return ReplicaReport(**values | changes)


def _of(node: Node) -> list[Replica]:
    return list(Replica.objects.filter(node=node).order_by("id"))
