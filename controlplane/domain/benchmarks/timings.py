"""What happened to each request of a level, and what that amounts to.

Percentiles are by nearest rank of the requests that were due within the measured window; what
failed has no time and counts as an error. Tokens are counted into the window by when they came: an
answer's tokens lie evenly between its first and its last byte, since a chunk may hold many.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

_SHARES = (50, 90, 99)
UNFINISHED = "not answered in time"


@dataclass(kw_only=True, slots=True)
class Timed:
    """One request, by a clock that never goes back."""

    due_at: float
    """When it was to be sent: a client that is late must not make the server look quick."""
    sent_at: float | None = None
    first_at: float | None = None
    """When the first token came; None for answers that come whole."""
    ended_at: float | None = None
    error: str | None = None
    prompt_tokens: int = 0
    completion_tokens: int = 0
    texts: int = 1

    @property
    def is_good(self) -> bool:
        return self.ended_at is not None and self.error is None


@dataclass(frozen=True, kw_only=True)
class Window:
    """The part of a level that counts; `until` is now where it was broken off."""

    begin: float
    until: float

    @property
    def seconds(self) -> float:
        return max(self.until - self.begin, 1e-9)

    def holds(self, at: float | None) -> bool:
        return at is not None and self.begin <= at < self.until

    def share(self, first: float, last: float) -> float:
        """Return the part of the time from `first` to `last` that lies in it."""
        if last <= first:
            return float(self.holds(last))
        return max(0.0, min(last, self.until) - max(first, self.begin)) / (last - first)


def summary(requests: Sequence[Timed], window: Window, *, is_over: bool) -> dict[str, Any]:
    """Return the figures of a level; while it goes on, what is unanswered is no error yet."""
    due = [each for each in requests if window.holds(each.due_at)]
    good = [each for each in due if each.is_good]
    errors = Counter(each.error for each in due if each.error is not None)
    if is_over and (left := sum(each.ended_at is None and each.error is None for each in due)):
        errors[UNFINISHED] += left
    ended, failed = len(good) + errors.total(), errors.total()
    return {
        "seconds": round(window.seconds, 3),
        "requests": len(good),
        "errors": failed,
        "error_share": _rounded(failed / ended) if ended else None,
        "errors_by_reason": dict(errors.most_common(8)),
        "warm_up_requests": sum(each.due_at < window.begin for each in requests),
        **_rates(requests, window),
        **_times(good),
        "prompt_tokens_mean": _mean(each.prompt_tokens for each in good),
        "completion_tokens_mean": _mean(each.completion_tokens for each in good),
        "send_delay_p99_seconds": _rounded(_rank(sorted(_delays(due)), 99)),
    }


def _rates(requests: Sequence[Timed], window: Window) -> dict[str, Any]:
    good = [each for each in requests if each.is_good]
    ended = [each for each in good if window.holds(each.ended_at)]
    written = sum(each.completion_tokens * _part(each, window) for each in good)
    read = sum(each.prompt_tokens for each in good if window.holds(each.first_at or each.ended_at))
    return {
        "requests_per_second": _rounded(len(ended) / window.seconds),
        "texts_per_second": _rounded(sum(each.texts for each in ended) / window.seconds),
        "completion_tokens_per_second": _rounded(written / window.seconds),
        "prompt_tokens_per_second": _rounded(read / window.seconds),
        "concurrency_mean": _rounded(_in_flight_seconds(requests, window) / window.seconds),
    }


def _part(each: Timed, window: Window) -> float:
    last = each.ended_at or 0.0
    return window.share(last if each.first_at is None else each.first_at, last)


def _in_flight_seconds(requests: Sequence[Timed], window: Window) -> float:
    return sum(
        max(0.0, min(each.ended_at or window.until, window.until) - max(each.sent_at, window.begin))
        for each in requests
        if each.sent_at is not None
    )


def _times(good: Sequence[Timed]) -> dict[str, Any]:
    first = [each.first_at - each.due_at for each in good if each.first_at is not None]
    whole = [each.ended_at - each.due_at for each in good if each.ended_at is not None]
    return {
        "first_token_seconds": _percentiles(first),
        "inter_token_seconds": _percentiles([*_between_tokens(good)]),
        "end_to_end_seconds": _percentiles(whole),
    }


def _between_tokens(good: Iterable[Timed]) -> Iterable[float]:
    for each in good:
        if each.first_at is not None and each.ended_at is not None and each.completion_tokens > 1:
            yield max(0.0, each.ended_at - each.first_at) / (each.completion_tokens - 1)


def _delays(due: Iterable[Timed]) -> Iterable[float]:
    return (each.sent_at - each.due_at for each in due if each.sent_at is not None)


def _percentiles(values: Sequence[float]) -> dict[str, float] | None:
    ordered = sorted(values)
    if not ordered:
        return None
    return {f"p{share}": round(_rank(ordered, share) or 0.0, 6) for share in _SHARES}


def _rank(ordered: Sequence[float], share: int) -> float | None:
    return ordered[max(0, math.ceil(len(ordered) * share / 100) - 1)] if ordered else None


def _mean(values: Iterable[int]) -> float | None:
    numbers = list(values)
    return _rounded(sum(numbers) / len(numbers)) if numbers else None


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
