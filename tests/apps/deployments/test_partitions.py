"""A node that cannot be heard: what it runs ends only after others have taken its place."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

import pytest
import time_machine

from apps.accounts.routes_version import routes_version_current
from apps.deployments.models import Deployment, Replica
from apps.deployments.nodes.removing import node_remove
from apps.deployments.services.deployments import deployment_deactivate
from apps.deployments.services.reconcile import deployment_settle
from apps.deployments.services.sweeping import deployments_sweep
from apps.fleet.models import DeviceLease, Gateway, Node
from apps.fleet.services.devices import NoRoom, devices_claim
from apps.rest.errors import Conflict
from apps.routes.snapshot import routes_snapshot
from controlplane import clock
from controlplane.domain.wire.identity import Identity
from tests.factories_serving import BROKEN, GIB, listened, make_gateway, make_serving_node
from workers.gateway.snapshot_reading import read

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]


@dataclass
class Partition:
    """A deployment that serves from one node, of which the other cannot take its place yet."""

    deployment: Deployment
    first: Replica
    say: Callable[..., None]

    def silence(self, *nodes: Node) -> None:
        """Cut these nodes off for longer than a silence, and look."""
        before = clock.now() - timedelta(seconds=16)
        Node.objects.filter(id__in=[each.id for each in nodes]).update(last_heartbeat_at=before)
        listened()
        deployments_sweep()

    def hear(self, replica: Replica, state: str, **more: object) -> None:
        """Have the replica's node speak again, and say so of the replica."""
        Node.objects.filter(id=replica.node_id).update(last_heartbeat_at=clock.now())
        self.say({replica.id: state}, on=replica.node, **more)

    def replacement(self) -> Replica:
        return self.deployment.replicas.exclude(id=self.first.id).get()

    def stands(self, replica: Replica | None = None) -> tuple[str, str]:
        """Return how the replica is and how it is wanted."""
        found = Replica.objects.get(id=(replica or self.first).id)
        return found.state, found.wanted

    @property
    def state(self) -> str:
        return str(Deployment.objects.values_list("state", flat=True).get(id=self.deployment.id))


@pytest.fixture
def parted(served: tuple[object, Deployment], say: Callable[..., None], node: Node) -> Partition:
    """The node has fallen silent, and the other has the order for a replacement."""
    deployment = served[1]
    first = deployment.replicas.get()
    say({first.id: "ready"})
    make_serving_node(name="other")
    found = Partition(deployment, first, say)
    found.silence(node)
    return found


def test_a_lost_replica_stays_wanted_until_another_is_ready(parted: Partition) -> None:
    second = parted.replacement()
    assert second.node.name == "other"
    for state in ("starting", "loading"):
        parted.hear(second, state)
        deployments_sweep()
        assert parted.stands() == ("lost", "running")
    parted.hear(second, "ready")
    assert parted.stands() == ("lost", "stopped")
    assert parted.state == "active"


def test_a_replaced_replica_never_comes_back_into_the_routes(parted: Partition) -> None:
    parted.hear(parted.replacement(), "ready")
    parted.hear(parted.first, "ready")
    assert parted.stands() == ("draining", "stopped")
    parted.hear(parted.first, "stopped")
    assert parted.stands() == ("stopped", "stopped")


@pytest.mark.parametrize("state", ["ordered", "starting", "loading"])
def test_one_that_is_heard_first_serves_on_and_its_replacement_is_withdrawn(
    parted: Partition, state: str
) -> None:
    second = parted.replacement()
    if state != "ordered":
        parted.hear(second, state)
    parted.hear(parted.first, "ready")
    assert parted.stands() == ("ready", "running")
    assert parted.stands(second)[1] == "stopped"
    assert parted.state == "active"
    parted.hear(second, "stopped")
    deployments_sweep()
    assert parted.deployment.replicas.filter(wanted="running").get() == parted.first


def test_the_replacement_is_kept_where_as_many_are_wanted(parted: Partition) -> None:
    second = parted.replacement()
    Deployment.objects.filter(id=parted.deployment.id).update(wanted_replicas=2)
    parted.hear(parted.first, "ready")
    assert parted.stands() == ("ready", "running")
    assert parted.stands(second) == ("ordered", "running")
    assert parted.deployment.replicas.count() == 2


def test_one_that_is_heard_from_an_agent_that_has_not_asked_it_yet_waits_as_it_is(
    parted: Partition,
) -> None:
    parted.hear(parted.first, "starting")
    parted.hear(parted.first, "loading")
    assert parted.stands() == ("lost", "running")
    parted.hear(parted.first, "ready")
    assert parted.stands() == ("ready", "running")


def test_one_that_left_the_routes_comes_back_neither_before_nor_after_gateways_know(
    parted: Partition,
) -> None:
    gateway = make_gateway()
    parted.hear(parted.replacement(), "ready")
    assert parted.stands() == ("lost", "running"), "gateways may still send it requests"
    parted.hear(parted.first, "ready")
    assert parted.stands() == ("draining", "running")
    Gateway.objects.filter(id=gateway.id).update(applied_version=routes_version_current())
    deployments_sweep()
    assert parted.stands() == ("draining", "stopped")


def test_a_replacement_that_fails_costs_the_lost_one_nothing(parted: Partition) -> None:
    second = parted.replacement()
    parted.hear(second, "failed", failure=BROKEN)
    deployments_sweep()
    assert parted.stands(second)[0] == "failed"
    assert parted.stands() == ("lost", "running")
    parted.hear(parted.first, "ready")
    assert (parted.state, parted.stands()) == ("active", ("ready", "running"))


def test_a_replacement_that_is_lost_too_is_replaced_and_the_longest_ready_stays(
    parted: Partition,
) -> None:
    second = parted.replacement()
    parted.hear(second, "loading")
    make_serving_node(name="third")
    parted.silence(parted.first.node, second.node)
    third = parted.deployment.replicas.get(node__name="third")
    assert {parted.stands(), parted.stands(second)} == {("lost", "running")}
    parted.hear(second, "ready")
    assert parted.stands() == ("lost", "stopped")
    assert parted.stands(second) == ("ready", "running")
    assert parted.stands(third)[1] == "stopped"


def test_of_several_lost_ones_as_many_end_as_others_are_ready(parted: Partition) -> None:
    second = parted.replacement()
    parted.hear(second, "ready")
    Deployment.objects.filter(id=parted.deployment.id).update(wanted_replicas=2)
    make_serving_node(name="third")
    deployment_settle(deployment_id=parted.deployment.id)
    third = parted.deployment.replicas.get(node__name="third")
    parted.hear(third, "ready")
    make_serving_node(name="fourth")
    parted.silence(second.node, third.node)
    fourth = parted.deployment.replicas.filter(state="ordered").first()
    assert fourth is not None
    parted.hear(fourth, "ready")
    lost = parted.deployment.replicas.filter(state="lost", wanted="running")
    assert lost.get() == second, "the longest ready one"


def test_nobody_wants_the_lost_replica_of_what_was_deactivated(parted: Partition) -> None:
    deployment_deactivate(deployment=parted.deployment)
    deployment_settle(deployment_id=parted.deployment.id)
    assert parted.stands() == ("lost", "stopped")
    assert parted.state == "deactivating", "it may run still"
    parted.hear(parted.first, "stopped")
    parted.say({}, on=parted.replacement().node)
    assert parted.state == "inactive"


def test_without_another_place_it_serves_again_when_it_is_heard(
    served: tuple[object, Deployment], say: Callable[..., None], node: Node
) -> None:
    first = served[1].replicas.get()
    say({first.id: "ready"})
    alone = Partition(served[1], first, say)
    alone.silence(node)
    assert (alone.state, alone.stands()) == ("unhealthy", ("lost", "running"))
    alone.hear(first, "ready")
    assert (alone.state, alone.stands()) == ("active", ("ready", "running"))
    assert served[1].replicas.count() == 1


def suspects(parted: Partition) -> list[str]:
    """Return the lost replicas that gateways may still ask, and that their snapshot reads so."""
    snapshot = read(json.dumps(routes_snapshot()).encode())
    told = snapshot.models[parted.deployment.model_id].deployments[parted.deployment.id]
    for each in told.suspects:
        row = Replica.objects.get(id=each.replica.id)
        assert (each.replica.port, each.probe_port) == (9000, 9001)
        assert each.identity == Identity(
            deployment_id=row.deployment_id,
            replica_id=row.id,
            generation=row.generation,
            boot_id=row.node.boot_id,
        )
    assert not {each.replica.id for each in told.suspects} & {each.id for each in told.replicas}
    return [each.replica.id for each in told.suspects]


def test_gateways_know_a_lost_replica_that_served_until_it_is_heard(parted: Partition) -> None:
    assert suspects(parted) == [], "its runner tells nobody who it is"
    Replica.objects.filter(id=parted.first.id).update(probe_port=9001)
    assert suspects(parted) == [parted.first.id]
    before = routes_version_current()
    parted.hear(parted.first, "ready", probe_port=9001)
    assert suspects(parted) == []
    assert routes_version_current() > before


def test_gateways_know_it_until_another_is_ready(parted: Partition) -> None:
    Replica.objects.filter(id=parted.first.id).update(probe_port=9001)
    parted.hear(parted.replacement(), "loading")
    assert suspects(parted) == [parted.first.id]
    before = routes_version_current()
    parted.hear(parted.replacement(), "ready")
    assert suspects(parted) == []
    assert routes_version_current() > before


def test_what_never_served_is_no_suspect(parted: Partition) -> None:
    second = parted.replacement()
    parted.hear(second, "loading", probe_port=9001)
    parted.silence(second.node)
    assert parted.stands(second)[0] == "lost"
    assert suspects(parted) == []


def test_of_a_removed_node_gateways_know_nothing(parted: Partition, node: Node) -> None:
    Replica.objects.filter(id=parted.first.id).update(probe_port=9001)
    Node.objects.filter(id=node.id).update(last_heartbeat_at=clock.now() - timedelta(days=1))
    before = routes_version_current()
    node_remove(node=node)
    assert suspects(parted) == []
    assert routes_version_current() > before


def claims(replica: Replica) -> int:
    return DeviceLease.objects.filter(holder=replica.device_holder, released_at=None).count()


def test_devices_of_a_lost_replica_stay_claimed_until_its_agent_says_that_it_is_gone(
    parted: Partition,
) -> None:
    parted.hear(parted.replacement(), "ready")
    assert claims(parted.first) == 1
    parted.hear(parted.first, "draining")
    assert claims(parted.first) == 1
    parted.hear(parted.first, "stopped")
    assert claims(parted.first) == 0


def test_devices_of_a_lost_replica_are_free_once_a_person_removes_the_node(
    parted: Partition, node: Node
) -> None:
    Node.objects.filter(id=node.id).update(last_heartbeat_at=clock.now() - timedelta(days=1))
    node_remove(node=node)
    assert (claims(parted.first), parted.stands()[0]) == (0, "stopped")


def test_an_order_that_may_have_arrived_is_withdrawn_and_keeps_its_devices(
    served: tuple[object, Deployment], say: Callable[..., None], node: Node
) -> None:
    first = served[1].replicas.get()
    make_serving_node(name="other")
    unheard = Partition(served[1], first, say)
    unheard.silence(node)
    assert unheard.stands() == ("lost", "stopped")
    assert claims(first) == 1
    assert unheard.replacement().node.name == "other"
    Node.objects.filter(id=node.id).update(last_heartbeat_at=clock.now())
    say({}, on=node)
    assert unheard.stands()[0] == "stopped"
    assert claims(first) == 0


@pytest.mark.parametrize("holder", ["build:b1", "replica:r1"])
def test_nobody_gets_a_device_of_a_silent_node_however_free_it_is(
    parted: Partition, holder: str
) -> None:
    node = make_serving_node(last_heartbeat_at=clock.now() - timedelta(seconds=16))
    listened()
    with pytest.raises(NoRoom, match="does not speak"):
        devices_claim(holder=holder, node=node, kind="CPU", count=1, memory_bytes=GIB)
    assert not DeviceLease.objects.filter(device__node=node).exists()


def test_a_node_that_speaks_is_not_removed_with_what_it_runs(parted: Partition, node: Node) -> None:
    parted.hear(parted.first, "ready")
    with pytest.raises(Conflict):
        node_remove(node=node)


def test_why_a_node_was_chosen_names_those_that_take_nothing(parted: Partition, node: Node) -> None:
    replica = Replica.objects.get(id=parted.replacement().id)
    assert replica.placement == (
        f"`other` is the only node that may take it. Passed over: `{node.name}` (silent)."
    )
    parted.hear(replica, "failed", failure=BROKEN)
    Node.objects.filter(id=replica.node_id).update(cordoned=True)
    with time_machine.travel(clock.now() + timedelta(seconds=3), tick=False):
        deployment_settle(deployment_id=parted.deployment.id)
    failure = Deployment.objects.get(id=parted.deployment.id).failure or {}
    assert failure["code"] == "EHD-NO-NODE"
    told = sorted([f"`{node.name}` is silent", "`other` is cordoned"])
    assert f"Of those that have one, {', '.join(told)}." in failure["sentence"]
