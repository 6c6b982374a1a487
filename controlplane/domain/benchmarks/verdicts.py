"""Whether a level kept its limits, and the highest that did, in one sentence."""

from collections.abc import Mapping, Sequence
from typing import Any

from controlplane.domain.benchmarks.order import Limits

Stage = Mapping[str, Any]
"""The figures of one level, as `timings.summary` gives them, with `load` and `level`."""


def broken_limits(limits: Limits, stage: Stage) -> list[str]:
    share = stage["error_share"]
    broken = []
    if share is None:
        return ["nothing was answered"]
    if limits.error_share is not None and share > limits.error_share:
        broken.append(f"error share {100 * share:.3g} % above {100 * limits.error_share:g} %")
    for name, limit, words in _timed(limits):
        measured = (stage[name] or {}).get("p90")
        if limit is not None and measured is not None and measured > limit:
            broken.append(f"p90 {words} {measured:.3g} s above {limit:g} s")
    return broken


def limits_in_words(limits: Limits) -> str:
    sentences = [f"p90 {words} ≤ {limit:g} s" for _, limit, words in _timed(limits) if limit]
    if limits.error_share is not None:
        sentences.append(f"errors ≤ {100 * limits.error_share:g} %")
    return ", ".join(sentences)


def largest_load(label: str, limits: Limits, stages: Sequence[Stage]) -> str:
    """Return the largest load within the limits in one sentence; blank where none was measured."""
    whole = [each for each in stages if not each["is_partial"]]
    if not whole:
        return ""
    if not limits.is_any:
        return _quickest(label, whole)
    kept = [each for each in whole if not each["broken_limits"]]
    if not kept:
        least = min(whole, key=lambda each: each["level"])
        return f"`{label}` does not keep {limits_in_words(limits)} even at {_load(least)}."
    best = max(kept, key=lambda each: each["level"])
    higher = any(each["level"] > best["level"] for each in stages)
    end = "" if higher else "; nothing higher was tried"
    return f"`{label}` carries {_load(best)} within {limits_in_words(limits)}: {_pace(best)}{end}."


def _quickest(label: str, stages: Sequence[Stage]) -> str:
    best = max(stages, key=lambda each: _throughput(each) or 0.0)
    return f"`{label}` is quickest at {_load(best)}: {_pace(best)}. No limit was set."


def throughput_of(stage: Stage) -> tuple[float, str]:
    """Return how much came a second, and of what: tokens, or texts where no tokens are written."""
    tokens = stage["completion_tokens_per_second"] or 0.0
    return (tokens, "tokens/s") if tokens else (stage["texts_per_second"] or 0.0, "texts/s")


def _throughput(stage: Stage) -> float:
    return throughput_of(stage)[0]


def _pace(stage: Stage) -> str:
    value, unit = throughput_of(stage)
    return f"{value:,.3g} {unit}" if value < 1000 else f"{value:,.0f} {unit}"


def _load(stage: Stage) -> str:
    unit = {"concurrency": "at a time", "rate": "a second"}[stage["load"]]
    noun = "request" if stage["level"] == 1 else "requests"
    return f"{stage['level']:g} {noun} {unit}"


def _timed(limits: Limits) -> list[tuple[str, float | None, str]]:
    return [
        ("first_token_seconds", limits.first_token_p90_seconds, "first token"),
        ("inter_token_seconds", limits.inter_token_p90_seconds, "inter-token"),
        ("end_to_end_seconds", limits.end_to_end_p90_seconds, "end to end"),
    ]
