"""Waiting for what becomes true."""

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
