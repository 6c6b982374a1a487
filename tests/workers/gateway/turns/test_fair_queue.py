"""Keys take turns by tokens, and nobody's flood is before anybody else."""

import pytest

from workers.gateway.turns.fair_queue import FairQueue
from workers.gateway.turns.urgency import Urgency

USUAL = Urgency(3)


def queue(*waiting: tuple[str, str, int]) -> FairQueue[str]:
    fair_queue: FairQueue[str] = FairQueue()
    for item, key, tokens in waiting:
        fair_queue.add(item, key=key, tokens=tokens, urgency=USUAL)
    return fair_queue


def order(found: FairQueue[str]) -> list[str]:
    return [found.pop() for _ in range(len(found))]


def test_one_request_is_not_behind_another_keys_flood() -> None:
    place = queue(*[(f"flood{n}", "loud", 1000) for n in range(100)])
    place.pop()
    place.add("single", key="quiet", tokens=100, urgency=USUAL)
    assert "single" in [place.pop() for _ in range(2)]


def test_keys_share_tokens_and_not_requests() -> None:
    large = [(f"large{n}", "one", 4000) for n in range(8)]
    small = [(f"small{n}", "other", 1000) for n in range(32)]
    first = order(queue(*large, *small))[:20]
    assert sum(each.startswith("large") for each in first) in (3, 4)


def test_one_that_is_larger_than_many_turns_goes_at_last() -> None:
    place = queue(("huge", "one", 10**9), ("small", "other", 1))
    assert order(place) == ["small", "huge"]


def test_what_a_key_used_beyond_what_was_reckoned_it_waits_for() -> None:
    place = queue(
        *[(f"a{n}", "a", 512) for n in range(4)], *[(f"b{n}", "b", 512) for n in range(4)]
    )
    place.charge("a", 2048)
    assert order(place)[:4] == ["b0", "b1", "b2", "b3"]


def test_urgency_orders_a_keys_own_and_takes_nothing_from_others() -> None:
    place = queue(("a0", "a", 900), ("b0", "b", 900), ("b1", "b", 900))
    for number in range(3):
        place.add(f"urgent{number}", key="a", tokens=900, urgency=Urgency(0))
    report = order(place)
    assert report.index("urgent2") < report.index("a0")
    assert report.index("b1") < report.index("urgent2")


def test_background_waits_for_all_that_is_none() -> None:
    place = queue()
    for item, urgency in (("idle", 7), ("later", 5), ("now", 3)):
        place.add(item, key=item, tokens=1, urgency=Urgency(urgency))
    assert order(place) == ["now", "later", "idle"]


def test_who_leaves_is_skipped_and_leaves_nothing_behind() -> None:
    place = queue(("a0", "a", 1), ("a1", "a", 1), ("b0", "b", 1))
    for item in ("a0", "b0", "b0"):
        place.discard(item)
    assert (len(place), "a0" in place, order(place)) == (1, False, ["a1"])
    with pytest.raises(IndexError):
        place.pop()


@pytest.mark.parametrize(
    ("header", "urgency"),
    [(None, 3), (b"u=0", 0), (b"i, u=6", 6), (b"u=5;x=1, i", 5), (b"u=9", 3), (b"high", 3)],
)
def test_urgency_is_read_as_http_has_it(header: bytes | None, urgency: int) -> None:
    assert Urgency.of(header) == urgency
