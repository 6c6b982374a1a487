"""GPUs are locked before nodes, and all GPUs in one order: no two transactions wait in a ring."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection, transaction

from apps.accounts.routes_version import routes_version_bump
from apps.deployments.environments.services import environment_delete
from apps.deployments.models import Deployment, Environment, FailedStarts, Replica
from apps.deployments.services.reconcile import deployment_reconcile
from apps.fleet.models import Node
from apps.fleet.services.devices import devices_claim
from apps.fleet.services.enrollment import enrollment_token_create
from apps.fleet.services.nodes import (
    DeviceReport,
    DeviceUse,
    node_enroll,
    node_observe,
    node_wanted_version_bump,
)
from controlplane import clock
from controlplane.domain.lifecycle import DeploymentState
from tests.factories import make_deployment, make_finished_build, make_replica, make_revision
from tests.factories import spec_json as plain_spec
from tests.factories_serving import make_serving_device, make_serving_node, node_says
from tests.waiting import DEADLINE_SECONDS, wait_for

pytestmark = [pytest.mark.recovery, pytest.mark.django_db(transaction=True)]
TIMES = ("first_at", "last_at", "retry_at")
GPU = {"kind": "H100", "memory_bytes": 80 * 1024**3}


def observe(node: Node) -> None:
    device = node.devices.get(kind="H100")
    report = DeviceReport(index=device.index, uuid=device.uuid, **GPU)
    node_observe(node=node, boot_id="b", devices={report: DeviceUse(used_bytes=1)})


def enroll_again(node: Node) -> None:
    device = node.devices.get(kind="H100")
    node_enroll(
        token=enrollment_token_create(), name=node.name, credential_sha256="c" * 64,
        address="127.0.0.1", engine_ports=(20_000, 20_999), boot_id="b", agent_version="0.1.0",
        host_memory_bytes=1, facts={},
        devices=[DeviceReport(index=device.index + 1, uuid=device.uuid, **GPU)],
    )  # fmt: skip


@pytest.mark.parametrize("told", [observe, enroll_again])
def test_a_node_that_tells_of_its_devices_waits_for_a_placement_with_nothing_in_hand(
    told: Callable[[Node], None],
) -> None:
    node = make_serving_node()
    make_serving_device(node=node, **GPU)
    with transaction.atomic():
        claim(node, "replica:a")
        with meanwhile(told, node):
            node_wanted_version_bump(node_ids=[node.id])
    node.refresh_from_db()
    assert node.wanted_version == 1
    assert node.boot_id == "b"


def test_placing_on_two_nodes_locks_their_devices_in_one_order(broker: str) -> None:
    first, second = make_serving_node(name="a"), make_serving_node(name="b")
    for node, id in ((first, "aaaaaaaa"), (second, "bbbbbbbb")):
        make_serving_device(node=node, id=id, **GPU)
        make_serving_device(node=node, id=f"{id}2", **GPU)
    deployment = deployment_on_gpus(replicas=3)
    # It has one on the first node, so it would place its next one on the second node.
    make_replica(deployment=deployment, node=first)
    with transaction.atomic():
        claim(first, "replica:x")
        with meanwhile(reconcile, deployment):
            claim(second, "replica:x")
    nodes = Replica.objects.filter(deployment=deployment).values_list("node__name", flat=True)
    assert sorted(nodes) == ["a", "a", "b"]


def test_a_report_of_failed_starts_waits_for_another_with_no_route_in_hand(broker: str) -> None:
    node = make_serving_node()
    deployment = deployment_on_gpus(replicas=2)
    remembered = FailedStarts.objects.create(
        node=node, artifact=deployment.artifact, **dict.fromkeys(TIMES, clock.now())
    )
    served = make_replica(deployment=deployment, node=node, id="aaaaa")
    loading = make_replica(
        deployment=deployment, node=node, id="bbbbb", state="loading", ready_at=None
    )
    with transaction.atomic():
        FailedStarts.objects.select_for_update(no_key=True).get(id=remembered.id)
        with meanwhile(both_failed(served, loading), node):
            routes_version_bump()
    remembered.refresh_from_db()
    assert remembered.count == 1


def test_an_environment_is_deleted_by_who_has_touched_none_of_its_deployments(broker: str) -> None:
    candidate = deployment_on_gpus(replicas=2)
    place = Environment.objects.create(model=candidate.model, name="x", candidate=candidate)
    with transaction.atomic():
        Environment.objects.select_for_update(no_key=True).get(id=place.id)
        with meanwhile(delete, place):
            Deployment.objects.select_for_update(no_key=True).get(id=candidate.id)
    assert not Environment.objects.filter(id=place.id).exists()


def delete(environment: Environment) -> None:
    environment_delete(environment=environment)


def both_failed(*replicas: Replica) -> Callable[[Node], None]:
    return lambda node: node_says(node, {each.id: "failed" for each in replicas})


def claim(node: Node, holder: str) -> None:
    devices_claim(holder=holder, node=node, count=1, **GPU)


def reconcile(deployment: Deployment) -> None:
    deployment_reconcile(deployment_id=deployment.id)


def deployment_on_gpus(*, replicas: int) -> Deployment:
    spec: dict[str, Any] = plain_spec() | {"resources": {"accelerator": "H100"}}
    build = make_finished_build(revision=make_revision(spec=spec), runtime="vllm")
    return make_deployment(
        build=build, state=DeploymentState.ACTIVE, runtime="vllm", wanted_replicas=replicas,
    )  # fmt: skip


@contextmanager
def meanwhile(act: Callable[[Any], None], thing: Any) -> Iterator[None]:
    """Let another connection act, until it waits for this one; raise what it raised."""
    failures: list[BaseException] = []

    def run() -> None:
        try:
            act(thing)
        except BaseException as error:
            failures.append(error)
        finally:
            connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    wait_for(waits_for_a_lock, what="the other connection waiting for a lock")
    yield
    transaction.on_commit(lambda: finished(thread, failures))


def finished(thread: threading.Thread, failures: list[BaseException]) -> None:
    thread.join(DEADLINE_SECONDS)
    assert not thread.is_alive()
    assert failures == []


def waits_for_a_lock() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM pg_locks WHERE NOT granted")
        return cursor.fetchone() is not None
