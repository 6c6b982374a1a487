"""How many tokens a forward may have, so that whoever comes during it does not wait long."""

from typing import Final

from controlplane.clock import Clock
from workers.engine.pooling.rows import Row
from workers.engine.pooling.runner import Runner

LONGEST_SECONDS: Final = 0.015
"""Of a forward: a text waits for up to two that are under way, and then for its own."""
LEAST_TOKENS: Final = 1024
"""Fewer leave a GPU idle, however long they take."""
TIMED_TEXT_TOKENS: Final = 128
_TIMES: Final = 3


def tokens_in_time(most: int, seconds: float) -> int:
    """Return the tokens of a forward, where one of so many took these seconds."""
    if seconds <= LONGEST_SECONDS:
        return most
    return min(most, max(LEAST_TOKENS, int(most * LONGEST_SECONDS / seconds)))


def seconds_of(runner: Runner, tokens: int, longest: int, clock: Clock) -> float:
    """Return what a forward of so many tokens takes, the shortest of some after a first.

    A text of it has no more than `longest`.
    """
    length = min(tokens, longest, TIMED_TEXT_TOKENS)
    rows = [Row(ids=[0] * length)] * (tokens // length)
    runner.start(rows)()
    seconds = []
    for _ in range(_TIMES):
        began = clock.monotonic()
        runner.start(rows)()
        seconds.append(clock.monotonic() - began)
    return min(seconds)
