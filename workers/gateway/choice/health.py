"""Whether a replica can be trusted with a request: what failed lately, and how it comes back.

One that is ejected rests for a while, is then asked by a probe of the gateway's own whether it is
well, and gets one real request at a time until one of them is answered.
"""

from controlplane.clock import Clock

_MOST_DOUBLINGS = 5
ERRORS_IN_A_ROW = 5
_FIRST_SERVER_ERROR = 500
_FULL_STATUSES = frozenset({501, 503})
"""Which say that it has no such route, or no room: nothing of its health."""
ERRORS = "errors"
"""Why one is ejected that answers with nothing but errors of its own."""


class Health:
    """Of one replica, as one gateway process has seen it."""

    __slots__ = (
        "_clock", "_eject_seconds", "_errors", "_failures", "_is_on_trial", "_is_probed",
        "ejected_at", "ejected_until", "is_well", "reason",
    )  # fmt: skip

    def __init__(self, eject_seconds: float, clock: Clock) -> None:
        self._eject_seconds, self._clock = eject_seconds, clock
        self._failures = self._errors = 0
        self._is_probed = self._is_on_trial = False
        self.is_well = True
        """Whether nothing is held against it. Read for each request: a plain attribute."""
        self.ejected_at = self.ejected_until = 0.0
        self.reason = ""
        """Why it is ejected, as upstream errors are counted."""

    def failed(self, reason: str) -> None:
        """Prefer other replicas for a while, which doubles while this one fails on."""
        self._eject(reason, doublings=self._failures)
        self._failures += 1

    def ended(self, status: int) -> None:
        """A whole answer came: it lives, and errors in a row say that it does not work."""
        self._failures = 0
        if status < _FIRST_SERVER_ERROR or status in _FULL_STATUSES:
            self._errors, self.is_well = 0, True
            return
        self._errors += 1
        if self._errors >= ERRORS_IN_A_ROW:
            self._eject(ERRORS, doublings=self._errors - ERRORS_IN_A_ROW)
        else:
            self.is_well = True

    def wants_probe(self) -> bool:
        """Return whether it has rested, and nobody has asked yet how it is."""
        if self.is_well or self._is_probed:
            return False
        return self._clock.monotonic() >= self.ejected_until

    def answered_probe(self) -> None:
        self._is_probed = True

    def missed_probe(self) -> None:
        self.failed(self.reason)

    def on_trial(self) -> None:
        """Note a request on trial: until it has ended, no other is sent."""
        self._is_on_trial = True

    def let_go(self) -> None:
        self._is_on_trial = False

    @property
    def may_try(self) -> bool:
        return self.is_well or (self._is_probed and not self._is_on_trial)

    @property
    def only_errs(self) -> bool:
        """Whether nothing but errors in its answers is held against it."""
        return not self._failures

    def _eject(self, reason: str, *, doublings: int) -> None:
        self.ejected_at = self._clock.monotonic()
        seconds = self._eject_seconds * 2.0 ** min(doublings, _MOST_DOUBLINGS)
        self.ejected_until = self.ejected_at + seconds
        self.reason, self.is_well, self._is_probed = reason, False, False
