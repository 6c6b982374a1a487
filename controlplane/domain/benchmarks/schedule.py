"""When requests are sent, and which load is tried next."""

import math
import random
from collections.abc import Iterator, Sequence

from controlplane.domain.benchmarks.order import Load, LoadKind

_BETWEEN = 3
"""How often a ramp looks between the highest load that was carried and the lowest that was not."""
_CLOSE_ENOUGH = 1.1


def arrivals(rate: float, *, seed: int) -> Iterator[float]:
    """Yield the moments of requests of a Poisson process, in seconds from its beginning."""
    chance, at = random.Random(seed), 0.0  # nosec B311 (the same for each run)
    while True:
        at += chance.expovariate(rate)
        yield at


def next_level(load: Load, tried: Sequence[tuple[float, bool]]) -> float | None:
    """Return the level to try next after these, each with whether it was carried; None at the end.

    A ramp doubles until a level is not carried, then looks between.
    """
    if not load.is_ramp:
        return load.levels[len(tried)] if len(tried) < len(load.levels) else None
    begin, most = load.levels
    if not tried:
        return begin
    broken = [level for level, is_held in tried if not is_held]
    if not broken:
        return min(2 * tried[-1][0], most) if tried[-1][0] < most else None
    carried = [level for level, is_held in tried if is_held and level < min(broken)]
    looks = len(tried) - 1 - [is_held for _, is_held in tried].index(False)
    if not carried or looks >= _BETWEEN:
        return None
    return _between(max(carried), min(broken), load.kind)


def _between(carried: float, broken: float, kind: LoadKind) -> float | None:
    if kind is LoadKind.CONCURRENCY:
        middle = float(math.isqrt(int(carried * broken)))
        return middle if carried < middle < broken else _next_whole(carried, broken)
    return math.sqrt(carried * broken) if broken / carried > _CLOSE_ENOUGH else None


def _next_whole(carried: float, broken: float) -> float | None:
    return carried + 1 if carried + 1 < broken else None
