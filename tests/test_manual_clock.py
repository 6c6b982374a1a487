import asyncio
import threading

import pytest

from controlplane.clock import SYSTEM
from tests.manual_clock import ManualClock


def test_who_sleeps_is_woken_when_the_clock_has_moved_far_enough() -> None:
    clock = ManualClock()
    thread = threading.Thread(target=clock.sleep, args=(10,))
    thread.start()
    clock.wait_for_waiters()
    clock.advance(9.5)
    assert thread.is_alive()
    clock.advance(0.5)
    thread.join()
    assert clock.slept == [10]


def test_a_wait_ends_with_its_event_or_with_the_clock() -> None:
    clock, event = ManualClock(), threading.Event()
    entries: list[bool] = []
    thread = threading.Thread(target=lambda: entries.append(clock.wait(event, 10)))
    thread.start()
    clock.wait_for_waiters()
    clock.advance(10)
    thread.join()
    event.set()
    assert clock.wait(event, 10)
    assert entries == [False]


async def _timed_out(clock: ManualClock, seconds: float) -> bool:
    try:
        async with clock.timeout(seconds):
            await asyncio.get_running_loop().create_future()
    except TimeoutError:
        return True
    return False


def test_tasks_pause_and_time_out_by_the_clock() -> None:
    async def play() -> None:
        clock = ManualClock()
        async with asyncio.TaskGroup() as tasks:
            pausing = tasks.create_task(clock.pause(5))
            timing_out = tasks.create_task(_timed_out(clock, 10))
            await SYSTEM.pause(0)
            clock.advance(5)
            await pausing
            assert not timing_out.done()
            clock.advance(5)
            assert await timing_out

    asyncio.run(play())


def test_a_body_that_ends_in_time_is_left_alone() -> None:
    async def play() -> None:
        clock = ManualClock()
        async with clock.timeout(5):
            await SYSTEM.pause(0)
        clock.advance(10)
        await SYSTEM.pause(0)

    asyncio.run(play())


def test_sleeping_can_move_the_clock_itself() -> None:
    clock = ManualClock(sleeping_moves_it=True)
    before = clock.now()
    clock.sleep(60)
    asyncio.run(clock.pause(60))
    assert (clock.now() - before).total_seconds() == pytest.approx(120)
    assert clock.slept == [60, 60]
