"""A build holds the GPUs that its step needs, all of them or none, and only while it runs."""

import pytest

from apps.builds.leasing import BUILD, device_holder
from apps.builds.models import Build
from apps.builds.selectors import build_detail
from apps.builds.serializers import BuildDetailObject
from apps.builds.services.claims import build_claim
from apps.builds.services.devices import DeviceNeed, build_devices_claim, build_devices_release
from apps.builds.services.progress import step_start, step_wait
from apps.fleet.models import DeviceLease, Node
from apps.fleet.selectors import leases_of_holder
from apps.fleet.services.devices import NoRoom
from apps.leases.lease import Lease, LeaseLost
from apps.leases.services import lease_release, leases_expire
from apps.leases.sweeping import leases_sweep
from tests import factories
from tests.apps.pages import signed_in
from tests.factories import GIB
from tests.folded import folded

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]


@pytest.fixture
def node() -> Node:
    """A node of four GPUs beside its CPU."""
    made = factories.make_node(name="four")
    factories.make_device(node=made, memory_bytes=16 * GIB)
    for _ in range(4):
        factories.make_device(node=made, kind="H100", memory_bytes=80 * GIB)
    return made


def running() -> Lease:
    lease = build_claim(build_id=factories.make_build().id, owner="worker")
    assert lease is not None
    return lease


def gpus(count: int) -> DeviceNeed:
    return DeviceNeed(kind="H100", count=count, memory_bytes=80 * GIB)


def held(lease: Lease) -> int:
    return len(leases_of_holder(device_holder(lease.id)))


def test_what_suffices_is_kept_and_the_rest_given_back(node: Node) -> None:
    lease = running()
    three = build_devices_claim(lease=lease, node=node, need=gpus(3))
    assert build_devices_claim(lease=lease, node=node, need=gpus(2)) == three[:2]
    assert held(lease) == 2
    memory = DeviceNeed(kind="CPU", count=1, memory_bytes=GIB)
    assert [device.kind for device in build_devices_claim(lease=lease, node=node, need=memory)] == [
        "CPU"
    ]
    assert held(lease) == 1
    build_devices_release(lease=lease)
    assert held(lease) == 0


def test_builds_that_each_hold_a_part_do_not_wait_for_each_other(node: Node) -> None:
    first, second = running(), running()
    for each in (first, second):
        build_devices_claim(lease=each, node=node, need=gpus(2))
    with pytest.raises(NoRoom) as refused:
        build_devices_claim(lease=first, node=node, need=gpus(3))
    assert held(first) == 0, "who waits holds nothing"
    assert refused.value.holders == {device_holder(second.id)}
    assert f"Held by `build:{second.id}` (80.0 GiB)" in str(refused.value)
    assert len(build_devices_claim(lease=second, node=node, need=gpus(3))) == 3


def test_what_a_node_can_never_give_is_told_apart(node: Node) -> None:
    lease = running()
    for need in (gpus(5), DeviceNeed(kind="B200", count=1, memory_bytes=1)):
        with pytest.raises(NoRoom) as refused:
            build_devices_claim(lease=lease, node=node, need=need)
        assert refused.value.is_hopeless
    assert "Node `four` has no `B200` GPU" in str(refused.value)


@pytest.mark.parametrize("end", ["taken by the sweep", "given back", "taken by another worker"])
def test_a_build_that_loses_its_worker_loses_its_devices(node: Node, end: str) -> None:
    lease = running()
    build_devices_claim(lease=lease, node=node, need=gpus(2))
    if end == "given back":
        lease_release(lease=lease)
    else:
        leases_expire(owners=["worker"])
        if end == "taken by the sweep":
            leases_sweep(BUILD)
        else:
            assert build_claim(build_id=lease.id, owner="another") is not None
    assert not DeviceLease.objects.filter(released_at=None).exists()
    with pytest.raises(LeaseLost):
        build_devices_claim(lease=lease, node=node, need=gpus(2))
    assert held(lease) == 0
    assert Build.objects.get(id=lease.id).lease_token > lease.token


def test_page_and_program_are_told_what_a_build_holds_and_what_it_waits_for(node: Node) -> None:
    cast = factories.make_cast()
    build = factories.make_build(team=cast.team)
    lease = build_claim(build_id=build.id, owner="worker")
    assert lease is not None
    build_devices_claim(lease=lease, node=node, need=gpus(2))
    step_start(lease=lease, step="smoke_test")
    step_wait(lease=lease, step="smoke_test", reason="Node `four` is full.")
    client = signed_in(cast.owner)
    page = folded(client.get(f"/builds/{build.number}/").content.decode())
    assert "waits for room. Node <code>four</code> is full." in page
    assert "Holds H100\u00a01 on <code>four</code>, H100\u00a02 on <code>four</code>" in page
    assert f"<code>build:{build.id}</code>" in folded(client.get("/nodes/").content.decode())
    data = BuildDetailObject(build_detail(team=cast.team, build_id=build.id)).data
    assert [(each["kind"], each["index"]) for each in data["devices"]] == [("H100", 1), ("H100", 2)]
    assert data["steps"][-1]["waits_for"] == "Node `four` is full."
    step_wait(lease=lease, step="smoke_test", reason="")
    assert "waits for room" not in folded(client.get(f"/builds/{build.number}/").content.decode())
