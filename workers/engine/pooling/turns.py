"""Which rows share a packed forward: of whatever lengths, and by turns of their requests."""

from collections import deque
from dataclasses import dataclass, field

from workers.engine.pooling.batching import Waiting
from workers.engine.pooling.rows import Request, Row

_MOST_PASSED = 16
"""Requests whose next row no longer fits, before a forward is full enough. They keep their turn."""


@dataclass(slots=True)
class _Left:
    """What of a request no forward has taken."""

    request: Request
    places: deque[int] = field(default_factory=deque)

    @property
    def is_done(self) -> bool:
        return not self.places or self.request.is_over

    @property
    def row(self) -> Row:
        return self.request.rows[self.places[0]]


@dataclass(slots=True)
class _Forward:
    """A forward that is made up, and what of it is taken."""

    rows: list[Waiting] = field(default_factory=list)
    tokens: int = 0

    def take(self, left: _Left) -> None:
        self.tokens += len(left.row)
        self.rows.append(Waiting(left.request, left.places.popleft()))


class Turns:
    """The oldest requests have half of each forward; then all take turns, a row each.

    So a small request never waits for the rest of a large one, and large ones are done one after
    the other: with turns alone all would be done, and their clients ask again, in one moment.
    """

    def __init__(self, *, max_rows: int, max_tokens: int) -> None:
        self._max_rows = max_rows
        self.max_tokens = max_tokens
        self._by_age: deque[_Left] = deque()
        self._by_turn: deque[_Left] = deque()

    def add(self, request: Request) -> None:
        left = _Left(request, deque(range(len(request.rows))))
        self._by_age.append(left)
        self._by_turn.append(left)

    def take(self) -> list[Waiting]:
        """Give back the rows of the next forward; none when nothing waits."""
        forward = _Forward()
        while left := _first(self._by_age):
            if not self._fits(forward, left, share=0.5):
                break
            forward.take(left)
        passed: list[_Left] = []
        while len(passed) < _MOST_PASSED and (left := _first(self._by_turn)):
            self._by_turn.popleft()
            if forward.rows and not self._fits(forward, left, share=1.0):
                passed.append(left)
                continue
            forward.take(left)
            self._by_turn.append(left)
        self._by_turn.extendleft(reversed(passed))
        return forward.rows

    def _fits(self, forward: _Forward, left: _Left, *, share: float) -> bool:
        return (
            len(forward.rows) + 1 <= share * self._max_rows
            and forward.tokens + len(left.row) <= share * self.max_tokens
        )


def _first(requests: deque[_Left]) -> _Left | None:
    while requests and requests[0].is_done:
        requests.popleft()
    return requests[0] if requests else None
