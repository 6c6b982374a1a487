"""The figures above a deployment's charts: of the chosen range, of this deployment alone."""

from collections.abc import Mapping, Sequence
from typing import Any

from apps.telemetry.series.selectors import Answer
from apps.ui import formats

_STREAMED = "first token: streamed requests only"


def headlines_of(
    *,
    requests: Answer,
    errors: Answer,
    prompt: Answer,
    completion: Answer,
    first: Answer,
    since: float,
    words: str,
) -> dict[str, str]:
    """Return the figures as they are written; `first` is one point of the whole range.

    Rates are over the steps that were counted, none of them before `since`, when it was made.
    """
    total, counted = _counted(requests, since)
    seconds = counted * requests.step_seconds
    failed, _ = _counted(errors, since)
    tokens = {"in": _counted(prompt, since)[0], "out": _counted(completion, since)[0]}
    rates = {name: many / seconds if seconds else None for name, many in tokens.items()}
    percentiles = first.lines[0].values if first.lines else {}
    return {
        "first_token": formats.duration(_first(percentiles, "p90")),
        "first_token_others": _others(percentiles),
        "output_tokens": formats.rate(rates["out"]),
        "input_tokens": f"{formats.rate(rates['in'])} in" if seconds else "",
        "requests": formats.rate(total / seconds if seconds else None),
        "requests_total": f"{formats.number(total)} in all" if seconds else "",
        "errors": formats.percent(failed / total if total else None),
        "errors_total": f"{formats.number(failed)} answered 5xx" if total else "",
        "basis": f"Measured by the gateway, {words}; {_STREAMED}.",
    }


def _counted(answer: Answer, since: float) -> tuple[float, int]:
    """Return the sum, and over how many steps it was counted."""
    if not answer.lines:
        return 0.0, 0
    steps = zip(answer.times, answer.lines[0].values["sum"], strict=True)
    known = [value for at, value in steps if value is not None and at + answer.step_seconds > since]
    return sum(known), len(known)


def _others(percentiles: Mapping[str, Sequence[float | None]]) -> str:
    known: list[tuple[str, Any]] = [(name, _first(percentiles, name)) for name in ("p50", "p99")]
    words = [f"{name} {formats.duration(value)}" for name, value in known if value is not None]
    return ", ".join(words)


def _first(percentiles: Mapping[str, Sequence[float | None]], name: str) -> float | None:
    return next(iter(percentiles.get(name, ())), None)
