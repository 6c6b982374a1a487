"""The check of everything that gateways hold, in slices: which rows to read anew next."""

from collections.abc import Collection, Iterator
from itertools import islice

from apps.routes.rows import keys_that_expired, routes_ids
from controlplane.clock import Clock
from controlplane.domain.wire.routes import KINDS, Place, RoutesDigest

CHECK_SECONDS = 300.0
"""Between the beginnings of two passes."""
SLICE_SECONDS = 2.0
SLICES = int(CHECK_SECONDS / SLICE_SECONDS)
"""Of a large fleet; a small one is read in fewer, and left alone until the next pass."""
FEWEST = 100


class RoutesCheck:
    """Names slice after slice all that is known or there, in a pass that begins every so often."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.begin_later()

    def begin_later(self) -> None:
        """Wait for as long as between two passes: everything was read just now."""
        self._pass: Iterator[Place] | None = None
        self._due_at = self._clock.monotonic() + CHECK_SECONDS

    def begin_anew(self) -> None:
        self._pass, self._due_at = None, self._clock.monotonic() + SLICE_SECONDS

    @property
    def is_due(self) -> bool:
        return self._clock.monotonic() >= self._due_at

    def next_slice(self, known: RoutesDigest) -> list[Place]:
        """Return the places to compare now: so many that `SLICES` are all."""
        now = self._clock.monotonic()
        if self._pass is None:
            self._pass, self._next_pass_at = _every_place(known), now + CHECK_SECONDS
        most = max(FEWEST, -(-len(known) // SLICES))
        places = list(islice(self._pass, most))
        self._due_at = now + SLICE_SECONDS
        if len(places) < most:
            self._pass, self._due_at = None, max(self._due_at, self._next_pass_at)
        return places


def _every_place(known: RoutesDigest) -> Iterator[Place]:
    for kind in KINDS:
        # Read when its turn comes: a list of ids is a small part of what the rows cost.
        for id in sorted({*known.ids_of(kind), *routes_ids(kind)}):
            yield kind, id


def unnamed_of(differing: Collection[Place]) -> list[Place]:
    """Return what was changed without being named; the end of a key by time never is."""
    expired = keys_that_expired([id for kind, id in differing if kind == "keys"])
    return sorted(place for place in differing if place[0] != "keys" or place[1] not in expired)
