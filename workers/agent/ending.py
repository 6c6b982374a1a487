"""What ends an agent: signals, of which none is lost because it came early."""

import signal
from collections.abc import Callable

_ENDING = (signal.SIGTERM, signal.SIGINT)


def _nothing() -> None:
    return None


class Ending:
    """Hears signals from `listen` on, and remembers those that came before anybody acts on them."""

    def __init__(self) -> None:
        self.came: set[int] = set()
        self._act: Callable[[], object] = _nothing

    def listen(self) -> None:
        """Handle signals from now on, also those that a supervisor held back."""
        for number in _ENDING:
            signal.signal(number, self._hear)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)

    def call(self, act: Callable[[], object]) -> None:
        """Call this at each signal, and now where one came already."""
        self._act = act
        if self.came:
            act()

    def _hear(self, number: int, frame: object) -> None:
        self.came.add(number)
        self._act()
