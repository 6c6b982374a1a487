"""The ledger never gives a GPU twice, and a CPU only as far as its memory goes."""

import threading

import pytest
from django.db import connection

from apps.fleet.models import CardLease
from apps.fleet.services import NoRoom, cards_claim, cards_release
from tests.factories_serving import GIB, make_serving_card, make_serving_node


@pytest.mark.django_db
def test_a_gpu_is_held_whole() -> None:
    node = make_serving_node()
    card = make_serving_card(node=node)
    claimed = cards_claim(holder="replica:a", node=node, kind="H100", count=1, memory_bytes=GIB)
    assert claimed == (card,)
    with pytest.raises(NoRoom, match="0 of 1 `H100` cards"):
        cards_claim(holder="replica:b", node=node, kind="H100", count=1, memory_bytes=GIB)
    cards_release(holder="replica:a")
    assert cards_claim(holder="replica:b", node=node, kind="H100", count=1, memory_bytes=GIB)


@pytest.mark.django_db
def test_a_cpu_is_shared_by_memory() -> None:
    node = make_serving_node(memory_bytes=8 * GIB)
    for holder in ("replica:a", "build:b"):
        cards_claim(holder=holder, node=node, kind="CPU", count=1, memory_bytes=3 * GIB)
    with pytest.raises(NoRoom, match=r"the most free on one is 2\.0 GiB"):
        cards_claim(holder="replica:c", node=node, kind="CPU", count=1, memory_bytes=3 * GIB)


@pytest.mark.django_db
def test_claiming_again_gives_the_same_cards() -> None:
    node = make_serving_node()
    for _ in range(2):
        cards_claim(holder="replica:a", node=node, kind="CPU", count=1, memory_bytes=GIB)
    assert CardLease.objects.filter(holder="replica:a").count() == 1


@pytest.mark.django_db
def test_a_card_that_another_process_uses_is_not_given() -> None:
    node = make_serving_node()
    make_serving_card(node=node, is_clean=False)
    with pytest.raises(NoRoom):
        cards_claim(holder="replica:a", node=node, kind="H100", count=1, memory_bytes=GIB)


@pytest.mark.django_db(transaction=True)
def test_of_two_claims_at_once_one_wins() -> None:
    node = make_serving_node()
    make_serving_card(node=node)
    won: list[str] = []

    def claim(holder: str) -> None:
        try:
            cards_claim(holder=holder, node=node, kind="H100", count=1, memory_bytes=GIB)
            won.append(holder)
        except NoRoom:
            pass
        finally:
            connection.close()

    threads = [threading.Thread(target=claim, args=(f"replica:{n}",)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1
    assert CardLease.objects.count() == 1
