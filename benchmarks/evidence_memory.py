"""The memory plan beside what engines reported of themselves on GPUs."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from benchmarks.evidence_table import about, amount
from benchmarks.memory_plan import report_plan

_GIB = 1024**3
_FIGURES = {"weights": "weights_bytes", "KV cache": "kv_cache_bytes", "KV tokens": "kv_tokens"}


def beside_reports(name: str, entries: Iterable[Mapping[str, Any]]) -> str:
    """Return three figures a report: as planned in that run, as planned today, as reported."""
    kept = list(entries)
    lines = ["## The memory plan beside the engine's report", "",
             f"`{name}`. *Then* is the plan of that run, *today* the plan as it is now, which "
             "`memory_plan.py` holds to the bars; the share of the GPU that the engine was given "
             "is that of its run.", "",
             "| config | engine | GPU | figure | then | today | reported | today's difference |",
             "|---|---|---|---|---|---|---|---|"]  # fmt: skip
    rows = [f"| {' | '.join(row)} |" for each in kept for row in _rows(each)]
    notes = dict.fromkeys(each["note"] for each in kept if "note" in each)
    of = [f"`{each['config']['model_name']}`" for each in kept if "note" in each]
    return "\n".join([*lines, *rows, "", *(f"{', '.join(of)}: {note}.\n" for note in notes)])


def report_of(name: str, found: Mapping[str, Any]) -> str:
    """Return where a report stands that was asked for without a build."""
    return "\n".join([
        f"## {about('A start for its memory alone', name)}", "",
        f"`{name}`: {found['gpu']}, {found['date']}, `{found['command']}`", "",
        f"{found['note'][0].upper()}{found['note'][1:]}. Its figures are in the table of the "
        "memory plan.", "", "The engine's own lines:", "",
        *(f"- {line}" for line in found.get("engine_lines", ())), "",
    ])  # fmt: skip


def _rows(entry: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    then, statement = entry["planned"], entry["report"]
    now = report_plan(entry)
    for words, key in _FIGURES.items():
        today = getattr(now, key)
        rounded = _rounded(entry) if key == "weights_bytes" else ""
        yield (
            f"`{entry['config']['model_name']}`",
            entry["runtime"],
            entry["device"]["kind"],
            words,
            amount(key, then[key]),
            amount(key, today),
            amount(key, statement[key]),
            f"{today / statement[key] - 1:+.2%}{rounded}",
        )


def _rounded(entry: Mapping[str, Any]) -> str:
    step = entry.get("weights_rounded_to_bytes")
    return f"; the engine rounds to {step / _GIB:.2f} GiB" if step else ""
