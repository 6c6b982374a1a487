"""Processes choose alike, evenly, and a replica that leaves moves no one else's requests."""

from collections import Counter
from dataclasses import dataclass

from workers.gateway.choice.rendezvous import highest, number_of


@dataclass(frozen=True)
class Place:
    address: str


PLACES = [Place(f"rep{number:02}@10.0.0.{number}:9000") for number in range(5)]
NUMBERS = [number_of("conversation", str(each)) for each in range(2000)]


def test_numbers_are_spread_evenly_and_in_whatever_order_places_are_known() -> None:
    chosen = [highest(PLACES, each) for each in NUMBERS]
    assert chosen == [highest(PLACES[::-1], each) for each in NUMBERS]
    assert all(340 < count < 460 for count in Counter(chosen).values())
    assert number_of("a", "b") == 18429100309458631331 != number_of("ab", "")


def test_where_one_leaves_only_its_own_numbers_move() -> None:
    before = {each: highest(PLACES, each) for each in NUMBERS}
    after = {each: highest(PLACES[1:], each) for each in NUMBERS}
    moved = [each for each in NUMBERS if before[each] != after[each]]
    assert moved == [each for each in NUMBERS if before[each] == PLACES[0]]
