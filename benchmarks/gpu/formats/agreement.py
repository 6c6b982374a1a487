"""How far two engines' answers to the same tokens agree."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

Step = Mapping[str, float]
"""Token -> its logarithmic probability, the likeliest ones of a place."""


def beside(native: Sequence[Step], other: Sequence[Step]) -> dict[str, Any]:
    """Return at how many places from the front both find the same token likeliest.

    With the largest difference of a logarithmic probability there, and where they part the
    distance of the native engine's first two.
    """
    pairs = list(zip(native, other, strict=False))
    same = next(
        (place for place, (ours, theirs) in enumerate(pairs) if _first(ours) != _first(theirs)),
        len(pairs),
    )
    gaps = [_difference(*pair) for pair in pairs[: same + 1]]
    return {
        "tokens": len(pairs),
        "same": same,
        "largest_difference": round(max(gaps, default=0.0), 4),
        "gap_where_they_part": _gap(native[same]) if same < len(pairs) else None,
    }


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    """Return the cosine of two vectors."""
    product = math.fsum(a * b for a, b in zip(one, other, strict=True))
    lengths = (math.sqrt(math.fsum(a * a for a in each)) for each in (one, other))
    return product / math.prod(lengths)


def _first(step: Step) -> str:
    return max(step, key=lambda token: step[token])


def _difference(ours: Step, theirs: Step) -> float:
    return max(
        (abs(ours[token] - theirs[token]) for token in ours.keys() & theirs.keys()), default=0.0
    )


def _gap(step: Step) -> float:
    first, second, *_ = sorted(step.values(), reverse=True)
    return round(first - second, 4)
