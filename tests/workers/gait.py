"""A watchdog's clock: it stands until a loop hangs, and goes as fast as it can from then on."""

import threading

from controlplane.clock import SystemClock


class Gait(SystemClock):
    """Sleeps until the loop hangs, and not at all after it."""

    def __init__(self) -> None:
        self.hangs = threading.Event()

    def sleep(self, seconds: float) -> None:  # type: ignore[override]
        self.hangs.wait()

    def monotonic(self) -> float:  # type: ignore[override]
        return 0.0
