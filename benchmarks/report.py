"""The form that every benchmark has: its options, its one object, its bars and its exit status."""

import argparse
import datetime
import json
import os
import platform
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.machine_speed import loop_seconds

NO_HARDWARE = 3
"""The exit status where nothing could be measured, so that what was kept is shown."""
_WORDS = {"<=": "at most", ">=": "at least"}


@dataclass(frozen=True)
class Bar:
    """What a figure has to be. One that is null was not measured, and is not judged."""

    sign: str
    limit: float

    def is_met(self, figure: float | None) -> bool:
        if figure is None:
            return True
        return figure <= self.limit if self.sign == "<=" else figure >= self.limit

    def __str__(self) -> str:
        return f"{self.sign} {self.limit:g}"


def at_most(limit: float) -> Bar:
    return Bar("<=", limit)


def at_least(limit: float) -> Bar:
    return Bar(">=", limit)


@dataclass(kw_only=True)
class Report:
    """Made before the measuring begins, as it notes what else the machine does."""

    as_json: bool
    started_at: float = field(default_factory=time.monotonic)
    load_before: float = field(default_factory=lambda: os.getloadavg()[0])

    def end(self, figures: Mapping[str, Any], bars: Mapping[str, Bar]) -> int:
        """Print the figures beside their bars; return 0 where every bar is met, else 1."""
        missed = [name for name, bar in bars.items() if not bar.is_met(figures[name])]
        values = {
            **figures,
            "bars": {name: str(bar) for name, bar in bars.items()},
            "bars_missed": missed,
            "bars_met": not missed,
            **self._host_summary(),
        }
        print(json.dumps(values, indent=1) if self.as_json else _as_text(values, bars))
        return int(bool(missed))

    def _host_summary(self) -> dict[str, Any]:
        return {
            "machine": machine(),
            "machine_loop_seconds": round(loop_seconds(), 4),
            "load_average_before": round(self.load_before, 2),
            "load_average_after": round(os.getloadavg()[0], 2),
            "took_seconds": round(time.monotonic() - self.started_at, 1),
            "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
            "command": " ".join(["python", f"benchmarks/{Path(sys.argv[0]).name}", *sys.argv[1:]]),
        }


def parser(description: str | None, *, full: str) -> argparse.ArgumentParser:
    """Return what every benchmark is asked with; `full` says what the long form does."""
    made = argparse.ArgumentParser(description=description)
    made.add_argument("--json", action="store_true", help="print one JSON object")
    made.add_argument("--full", action="store_true", help=full)
    return made


def machine() -> str:
    """Return what the figures are from, in words."""
    cores, version = len(os.sched_getaffinity(0)), platform.python_version()
    return f"{cores} cores of an {platform.machine()} machine, Python {version}"


def percentile(values: list[float], share: float) -> float:
    """Return the value that so large a share of them do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def _as_text(told: Mapping[str, Any], bars: Mapping[str, Bar]) -> str:
    return "\n".join(
        line
        for name, value in told.items()
        if name not in ("bars", "command")
        for line in _lines(name, value, bars.get(name))
    )


def _lines(name: str, value: Any, bar: Bar | None) -> Iterator[str]:
    if isinstance(value, Mapping):
        yield name
        for key, each in value.items():
            yield f"  {key:<44} {_word(each)}"
    else:
        yield f"{name:<46} {_word(value)}{_judged(value, bar)}"


def _word(value: Any) -> str:
    if isinstance(value, Mapping):
        return "  ".join(f"{key} {_word(each)}" for key, each in value.items())
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return "not measured" if value is None else str(value)


def _judged(value: float | None, bar: Bar | None) -> str:
    if bar is None:
        return ""
    missed = "" if bar.is_met(value) else ", MISSED"
    return f"   (bar: {_WORDS[bar.sign]} {bar.limit:g}{missed})"
