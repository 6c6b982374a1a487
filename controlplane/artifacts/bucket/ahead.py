"""Work that is done a few steps ahead of who takes its results in order."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future
from typing import TypeVar

A = TypeVar("A")
R = TypeVar("R")


def ahead(
    pool: Executor, work: Callable[[A], R], items: Iterable[A], most_ahead: int
) -> Iterator[R]:
    """Yield the result of each item in order; no more than `most_ahead` are held meanwhile."""
    begun: deque[Future[R]] = deque()
    try:
        for item in items:
            if len(begun) == most_ahead:
                yield begun.popleft().result()
            begun.append(pool.submit(work, item))
        while begun:
            yield begun.popleft().result()
    finally:
        for each in begun:
            each.cancel()
