from bisect import bisect_left
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

from workers.engine.pooling.rows import Request, Row

EDGES = tuple(
    sorted({base * step for step in (4, 5, 6, 7) for base in (1 << n for n in range(16))})
)
"""Lengths that end a bucket, each at most a quarter above the one before."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A row, its place among its request's rows, and when it came."""

    request: Request
    index: int
    number: int = 0

    @property
    def row(self) -> Row:
        return self.request.rows[self.index]


class Buckets:
    """Waiting rows by length: a forward pads its rows to the longest, so like goes with like.

    The oldest row always goes next. Its bucket fills the batch; where that has too few, shorter
    rows join, down to half the length, because one forward more costs more than their padding.
    """

    def __init__(self, *, max_rows: int, max_tokens: int) -> None:
        self._max_rows = max_rows
        self.max_tokens = max_tokens
        self._buckets: list[deque[Waiting]] = [deque() for _ in range(len(EDGES) + 1)]
        self._numbers = count()

    def add(self, request: Request) -> None:
        for index, row in enumerate(request.rows):
            place = bisect_left(EDGES, len(row))
            self._buckets[place].append(Waiting(request, index, next(self._numbers)))

    def take(self) -> list[Waiting]:
        """Give back the rows of the next forward; none when nothing waits."""
        batch: list[Waiting] = []
        longest = 0
        for waiting, bucket in self._candidates():
            length = max(longest, len(waiting.row))
            if batch and not self._fits(len(batch) + 1, length):
                break
            bucket.popleft()
            batch.append(waiting)
            longest = length
        return batch

    def _candidates(self) -> Iterator[tuple[Waiting, deque[Waiting]]]:
        """The oldest row and whoever may share a forward with it, each still in its bucket."""
        for bucket in self._buckets:
            _drop_ended(bucket)
        filled = [place for place, bucket in enumerate(self._buckets) if bucket]
        if not filled:
            return
        first = min(filled, key=lambda place: self._buckets[place][0].number)
        shortest = len(self._buckets[first][0].row) / 2
        for place in range(first, -1, -1):
            bucket = self._buckets[place]
            while bucket and len(bucket[0].row) >= shortest:
                yield bucket[0], bucket
                _drop_ended(bucket)
            if bucket:
                return

    def _fits(self, rows: int, longest: int) -> bool:
        return rows <= self._max_rows and rows * longest <= self.max_tokens


def _drop_ended(bucket: deque[Waiting]) -> None:
    while bucket and bucket[0].request.is_over:
        bucket.popleft()
