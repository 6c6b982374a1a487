"""Curves of throughput against latency, drawn by the server: no script, and read out in words."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from apps.benchmarks.results import Measured
from apps.ui import formats

WIDTH, HEIGHT = 560, 240
_LEFT, _RIGHT, _TOP, _BOTTOM = 84, 28, 20, 40
_MARKS = 4
MOST_LINES = 6
"""As many colours as charts have."""


@dataclass(frozen=True, kw_only=True)
class Mark:
    """A point of a line, or a value at an axis."""

    x: float
    y: float
    words: str


@dataclass(frozen=True, kw_only=True)
class Curve:
    label: str
    number: int
    """From 1, which chooses its colour."""
    points: Sequence[Mark]

    @property
    def path(self) -> str:
        return " ".join(f"{each.x},{each.y}" for each in self.points)


@dataclass(frozen=True, kw_only=True)
class Chart:
    """One drawing: its lines, and the values at its axes."""

    title: str
    unit: str
    curves: Sequence[Curve]
    x_marks: Sequence[Mark]
    y_marks: Sequence[Mark]
    width: int = WIDTH
    height: int = HEIGHT
    left: int = _LEFT
    right: int = WIDTH - _RIGHT

    @property
    def words(self) -> str:
        """What a screen reader says of it."""
        lines = (
            f"{each.label}: {'; '.join(point.words for point in each.points)}"
            for each in self.curves
        )
        return f"{self.title}. {'. '.join(lines)}."


def charts(measured: Sequence[tuple[str, Measured]]) -> list[Chart]:
    """Return the drawings of what was measured, each under its label; none without two values."""
    drawn = (
        _chart("Throughput against p90 first token", "first_token_seconds", measured),
        _chart("Throughput against p90 inter-token", "inter_token_seconds", measured),
        _chart("Throughput against p90 end to end", "end_to_end_seconds", measured),
    )
    kept = [each for each in drawn if each is not None]
    return kept[:2]


def _chart(title: str, name: str, measured: Sequence[tuple[str, Measured]]) -> Chart | None:
    lines = [(label, _points(each, name)) for label, each in measured[:MOST_LINES]]
    every = [point for _, points in lines for point in points]
    if not every:
        return None
    most_x, most_y = _round_up(x for x, _, _ in every), _round_up(y for _, y, _ in every)
    unit = next((stage["unit"] for _, each in measured for stage in each.stages), "")
    return Chart(
        title=title,
        unit=unit,
        curves=[
            Curve(
                label=label, number=number,
                points=[_mark(x, y, most_x, most_y, f"{words}, {x:.4g} {unit}, {_time(y)}")
                        for x, y, words in points],
            )
            for number, (label, points) in enumerate(lines, 1)
        ],
        x_marks=[_mark(value, 0, most_x, most_y, _amount(value)) for value in _steps(most_x)],
        y_marks=[_mark(0, value, most_x, most_y, _time(value)) for value in _steps(most_y)],
    )  # fmt: skip


def _points(each: Measured, name: str) -> list[tuple[float, float, str]]:
    whole = [stage for stage in each.stages if stage[name] and not stage["is_partial"]]
    ordered = sorted(whole, key=lambda stage: stage["level"])
    return [
        (stage["throughput"], stage[name]["p90"], f"{stage['level']:g} {_unit(stage['load'])}")
        for stage in ordered
    ]


def _unit(load: str) -> str:
    return "at a time" if load == "concurrency" else "requests/s"


def _mark(x: float, y: float, most_x: float, most_y: float, words: str) -> Mark:
    across, up = WIDTH - _LEFT - _RIGHT, HEIGHT - _TOP - _BOTTOM
    return Mark(
        x=round(_LEFT + across * x / most_x, 1),
        y=round(HEIGHT - _BOTTOM - up * y / most_y, 1),
        words=words,
    )


def _steps(most: float) -> list[float]:
    return [most * step / _MARKS for step in range(_MARKS + 1)]


def _round_up(values: Iterable[float]) -> float:
    most = max(values) or 1.0
    power: float = 10.0 ** math.floor(math.log10(most))
    return next(power * step for step in (1, 2, 4, 6, 8, 10) if power * step >= most)


def _amount(value: float) -> str:
    return f"{value:,.4g}".replace(",", formats.THIN_SPACE)


def _time(seconds: float) -> str:
    return formats.duration(seconds)
