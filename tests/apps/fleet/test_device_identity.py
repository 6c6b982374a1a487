"""A GPU is known by its uuid: whatever slot it is seen in, the claims on it stay."""

import pytest

from apps.fleet.models import Device, DeviceLease, Node
from apps.fleet.services.devices import NoRoom, devices_claim
from apps.fleet.services.nodes import DeviceReport, DeviceUse, node_observe
from tests.factories import GIB, make_node

pytestmark = pytest.mark.django_db

GPU = DeviceReport(index=0, uuid="GPU-1", kind="H100", memory_bytes=80 * GIB)
CPU_BESIDE_GPU = DeviceReport(index=1, uuid="CPU-1", kind="CPU", memory_bytes=8 * GIB)
CPU_ALONE = DeviceReport(index=0, uuid="CPU-1", kind="CPU", memory_bytes=8 * GIB)


@pytest.fixture
def node() -> Node:
    """A host with one GPU and its CPU, both claimed."""
    node = make_node()
    see(node, GPU, CPU_BESIDE_GPU)
    claim(node, "replica:gpu", "H100", 80 * GIB)
    claim(node, "replica:cpu", "CPU", 6 * GIB)
    return node


def see(node: Node, *devices: DeviceReport) -> None:
    node_observe(node=node, boot_id="b", devices={device: DeviceUse() for device in devices})


def claim(node: Node, holder: str, kind: str, memory_bytes: int) -> None:
    devices_claim(holder=holder, node=node, kind=kind, count=1, memory_bytes=memory_bytes)


def present(node: Node) -> dict[str, int]:
    return dict(Device.objects.filter(node=node, is_present=True).values_list("uuid", "index"))


def test_claims_outlast_a_gpu_that_vanishes_and_returns(node: Node) -> None:
    claims = set(DeviceLease.objects.values_list("id", "device_id"))
    see(node, CPU_ALONE)
    assert present(node) == {"CPU-1": 0}
    assert set(DeviceLease.objects.values_list("id", "device_id")) == claims
    see(node, GPU, CPU_BESIDE_GPU)
    assert present(node) == {"GPU-1": 0, "CPU-1": 1}
    assert set(DeviceLease.objects.values_list("id", "device_id")) == claims


def test_no_memory_is_given_twice_while_a_gpu_comes_and_goes(node: Node) -> None:
    for devices in ([CPU_ALONE], [GPU, CPU_BESIDE_GPU]):
        see(node, *devices)
        with pytest.raises(NoRoom, match=r"the most free on one is 2\.0 GiB"):
            claim(node, "build:other", "CPU", 6 * GIB)
        with pytest.raises(NoRoom):
            claim(node, "replica:other", "H100", GIB)


def test_a_replaced_gpu_is_absent_and_the_one_in_its_slot_is_free(node: Node) -> None:
    other = DeviceReport(index=0, uuid="GPU-2", kind="H100", memory_bytes=80 * GIB)
    see(node, other, CPU_BESIDE_GPU)
    assert present(node) == {"GPU-2": 0, "CPU-1": 1}
    assert not Device.objects.get(uuid="GPU-1").is_present
    claim(node, "replica:other", "H100", 80 * GIB)


def test_two_gpus_may_swap_their_slots(node: Node) -> None:
    def gpu(number: int, index: int) -> DeviceReport:
        return DeviceReport(index=index, uuid=f"GPU-{number}", kind="H100", memory_bytes=80 * GIB)

    see(node, gpu(1, 0), gpu(2, 1))
    see(node, gpu(2, 0), gpu(1, 1))
    assert present(node) == {"GPU-2": 0, "GPU-1": 1}
    assert DeviceLease.objects.get(holder="replica:gpu").device.uuid == "GPU-1"
