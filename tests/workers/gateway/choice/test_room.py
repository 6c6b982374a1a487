"""How much a replica is known to take."""

from tests.manual_clock import ManualClock
from workers.gateway.choice.room import Room


def test_a_replica_takes_what_comes_until_its_engine_has_refused() -> None:
    assert Room(ManualClock()).takes(1000)


def test_after_a_refusal_more_is_tried_in_steps_until_it_is_forgotten() -> None:
    clock = ManualClock()
    room = Room(clock)
    room.refused(5)
    most = []
    for _ in range(4):
        most.append(max(count for count in range(20) if room.takes(count)))
        clock.advance(1)
    assert most == [4, 5, 7, 11]
    clock.advance(6)
    assert room.takes(10_000)
    assert room.is_open


def test_a_refusal_anew_begins_anew() -> None:
    clock = ManualClock()
    room = Room(clock)
    room.refused(5)
    clock.advance(3)
    room.refused(6)
    assert [room.takes(5), room.takes(6)] == [True, False]
