"""How much a replica takes at a time, as its engine's refusals tell it."""

from controlplane.clock import Clock

_FORGOTTEN_SECONDS = 10


class Room:
    """Of one replica: nothing is known of it until its engine has refused a request for it."""

    __slots__ = ("_clock", "_known_since", "is_open", "most")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._known_since = 0.0
        self.is_open = True
        """Whether nothing is known. Read for each request: a plain attribute."""
        self.most = 0

    def refused(self, beside: int) -> None:
        """Note that the engine refused one more beside so many."""
        self.most, self._known_since, self.is_open = beside, self._clock.monotonic(), False

    def takes(self, in_flight: int) -> bool:
        """Return whether it may be sent one more than are in flight.

        Other gateways' requests end unseen: one more is tried after a second, then three, seven, …
        """
        seconds = 0 if self.is_open else int(self._clock.monotonic() - self._known_since)
        if seconds >= _FORGOTTEN_SECONDS:
            self.is_open = True
        return self.is_open or in_flight < self.most + 2**seconds - 1
