"""Waiting for what becomes true, and timing what has to be quick."""

import time
from collections.abc import Callable
from typing import Any


def until(condition: Callable[[], Any], seconds: float = 30.0) -> Any:
    """Return the first true value of `condition`."""
    patience = time.monotonic() + seconds
    while time.monotonic() < patience:
        if value := condition():
            return value
        time.sleep(0.005)
    raise AssertionError("it did not become true in time")


def quickest(measure: Callable[[], float], *, enough: float, tries: int = 5) -> float:
    """Return the least of some measured times: a busy machine only adds to them.

    The first one that is quick enough is the last.
    """
    least = measure()
    for _ in range(tries - 1):
        if least <= enough:
            break
        least = min(least, measure())
    return least
