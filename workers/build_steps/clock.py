"""How long a step will still take."""

import time


class Clock:
    """Tells how long the rest will take at the pace so far."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._start = time.monotonic()

    def seconds_left(self, done: int) -> float | None:
        """Return the seconds left, or None while nothing is done."""
        if not done:
            return None
        return (time.monotonic() - self._start) / done * (self._total - done)
