"""How much work a function does, as a number that no machine changes."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def calls_made_by(work: Callable[[], object]) -> int:
    """Return how many functions were called meanwhile in this thread, built-in ones too."""
    calls = 0

    def count(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal calls
        calls += event in {"call", "c_call"}

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return calls
