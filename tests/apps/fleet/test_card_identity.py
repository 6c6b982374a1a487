"""A GPU is known by its uuid: whatever slot it is seen in, the claims on it stay."""

import pytest

from apps.fleet.models import Card, CardLease, Node
from apps.fleet.services import CardReport, CardUse, NoRoom, cards_claim, node_observe
from tests.factories import GIB, make_node

pytestmark = pytest.mark.django_db

GPU = CardReport(index=0, uuid="GPU-1", kind="H100", memory_bytes=80 * GIB)
CPU_BESIDE_GPU = CardReport(index=1, uuid="CPU-1", kind="CPU", memory_bytes=8 * GIB)
CPU_ALONE = CardReport(index=0, uuid="CPU-1", kind="CPU", memory_bytes=8 * GIB)


@pytest.fixture
def node() -> Node:
    """A host with one GPU and its CPU, both claimed."""
    node = make_node()
    see(node, GPU, CPU_BESIDE_GPU)
    claim(node, "replica:gpu", "H100", 80 * GIB)
    claim(node, "replica:cpu", "CPU", 6 * GIB)
    return node


def see(node: Node, *cards: CardReport) -> None:
    node_observe(node=node, boot_id="b", cards={card: CardUse() for card in cards})


def claim(node: Node, holder: str, kind: str, memory_bytes: int) -> None:
    cards_claim(holder=holder, node=node, kind=kind, count=1, memory_bytes=memory_bytes)


def present(node: Node) -> dict[str, int]:
    return dict(Card.objects.filter(node=node, is_present=True).values_list("uuid", "index"))


def test_claims_outlast_a_gpu_that_vanishes_and_returns(node: Node) -> None:
    claims = set(CardLease.objects.values_list("id", "card_id"))
    see(node, CPU_ALONE)
    assert present(node) == {"CPU-1": 0}
    assert set(CardLease.objects.values_list("id", "card_id")) == claims
    see(node, GPU, CPU_BESIDE_GPU)
    assert present(node) == {"GPU-1": 0, "CPU-1": 1}
    assert set(CardLease.objects.values_list("id", "card_id")) == claims


def test_no_memory_is_given_twice_while_a_gpu_comes_and_goes(node: Node) -> None:
    for cards in ([CPU_ALONE], [GPU, CPU_BESIDE_GPU]):
        see(node, *cards)
        with pytest.raises(NoRoom, match=r"the most free on one is 2\.0 GiB"):
            claim(node, "build:other", "CPU", 6 * GIB)
        with pytest.raises(NoRoom):
            claim(node, "replica:other", "H100", GIB)


def test_a_replaced_gpu_is_absent_and_the_one_in_its_slot_is_free(node: Node) -> None:
    other = CardReport(index=0, uuid="GPU-2", kind="H100", memory_bytes=80 * GIB)
    see(node, other, CPU_BESIDE_GPU)
    assert present(node) == {"GPU-2": 0, "CPU-1": 1}
    assert not Card.objects.get(uuid="GPU-1").is_present
    claim(node, "replica:other", "H100", 80 * GIB)


def test_two_gpus_may_swap_their_slots(node: Node) -> None:
    def gpu(number: int, index: int) -> CardReport:
        return CardReport(index=index, uuid=f"GPU-{number}", kind="H100", memory_bytes=80 * GIB)

    see(node, gpu(1, 0), gpu(2, 1))
    see(node, gpu(2, 0), gpu(1, 1))
    assert present(node) == {"GPU-2": 0, "GPU-1": 1}
    assert CardLease.objects.get(holder="replica:gpu").card.uuid == "GPU-1"
