"""The figures of GPUs that matter most, in one table at the head of the page of evidence."""

from collections.abc import Iterator, Mapping
from typing import Any

from benchmarks.evidence_table import came_through, step_seconds, what_of
from benchmarks.memory_plan import report_plan

_SHAPE, _SMALL = "Qwen3-8B shape, random weights, FP8", "SmolLM2, FP8 with FP8 KV"
_MODELS = {"large_speed": _SHAPE, "large_build": _SHAPE, "large_deploy": _SHAPE}
_BAR_PERCENT = 2
_RATES = ("large_speed", "speed")


def summary(results: Mapping[str, Any]) -> str:
    """Return the table: what, on which GPU, as seen, and the bar where the design has one."""
    lines = ["## In short", "", "| what | GPU | seen | bar |", "|---|---|---|---|"]
    rows = [row for name, outcome in results.items() if came_through(outcome)
            for row in _rows(what_of(name), outcome)]  # fmt: skip
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows), ""])


def _rows(what: str, found: Any) -> Iterator[tuple[str, str, str, str]]:
    device = found[0]["device"]["kind"] if what == "memory" else found["gpu"].partition(",")[0]
    for words, seen, bar in _figures(what, found):
        yield words, device.removeprefix("NVIDIA "), seen, bar


def _figures(what: str, found: Any) -> Iterator[tuple[str, str, str]]:
    model = _MODELS.get(what, _SMALL)
    if what in _RATES:
        yield from _rates(model, found, f"{_BAR_PERCENT} %" if model == _SHAPE else "")
    elif what == "memory":
        yield _memory(found)
    elif what in ("build", "large_build"):
        yield (
            f"{model}: the build, steps together",
            f"{sum(map(step_seconds, found['steps'])):.0f} s",
            "",
        )
    elif what in ("deploy", "large_deploy"):
        yield (
            f"{model}: from the order to an active deployment",
            f"{found['seconds_to_active']} s",
            "",
        )
    elif what in ("native", "native_deploy"):
        how = "by itself" if what == "native" else "behind the gateway"
        seen = f"{found['identical']} of {found['of']} answers"
        yield f"native engine, bfloat16, {how}: the same text as Transformers'", seen, ""
    elif what == "kill":
        yield _fault("the engine killed while it serves: told / answering again", found, 0)
    elif what == "out_of_memory":
        yield _fault("calibration out of memory: told / built after a retry", found, -1)


def _rates(model: str, found: Mapping[str, Any], bar: str) -> Iterator[tuple[str, str, str]]:
    for row in found["rows"]:
        middle = row.get("cost_of_medians_percent")
        more = "" if middle is None else f", of the medians {middle:+.2f} %"
        yield (
            f"{model}: {_streams(row)} through the gateway / vLLM alone",
            f"{row['gateway']:,} / {row['alone']:,} tokens/s: {row['cost_percent']:+.2f} %{more}",
            bar,
        )


def _streams(row: Mapping[str, Any]) -> str:
    return "1 stream" if row["streams"] == 1 else f"{row['streams']} streams"


def _memory(entries: Any) -> tuple[str, str, str]:
    errors = [100 * (report_plan(each).kv_tokens / each["report"]["kv_tokens"] - 1)
              for each in entries]  # fmt: skip
    engines = sorted({each["runtime"] for each in entries})
    return (
        f"KV tokens of {len(entries)} starts ({', '.join(engines)}): today's plan, the report",
        f"{min(errors):+.2f} % to {max(errors):+.2f} %",
        "-3 % to +1 %",
    )


def _fault(words: str, found: Mapping[str, Any], place: int) -> tuple[str, str, str]:
    row = found["faults"][place]
    seen = f"{row['said_after_seconds']:.1f} s / {row['recovered_after_seconds']:.1f} s"
    return words, seen, ""
