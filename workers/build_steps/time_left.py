from controlplane.clock import SYSTEM, Clock


class Pace:
    """Tells how long the rest will take at the pace so far."""

    def __init__(self, total: int, *, clock: Clock = SYSTEM) -> None:
        self._total = total
        self._clock = clock
        self._start = clock.monotonic()

    def seconds_left(self, done: int) -> float | None:
        if not done:
            return None
        return (self._clock.monotonic() - self._start) / done * (self._total - done)
