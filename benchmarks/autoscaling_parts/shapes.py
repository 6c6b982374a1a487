"""Shapes of traffic to try settings on: recorded ones, the usual ones, and those that do harm."""

import random
from collections.abc import Mapping
from math import pi, sin
from pathlib import Path

from controlplane.domain.scaling.simulation import Traffic

HOUR_SECONDS = 3600
DAY_SECONDS = 24 * HOUR_SECONDS
RECORDED = ("conversations", "code")
_RECORDED_FOLDER = Path(__file__).with_name("recorded")
_SERVICE_SECONDS = 8.0


def shapes(*, seed: int = 1) -> Mapping[str, Traffic]:
    """Return each shape by its name: requests a second, drawn the same way each time."""
    draw = random.Random(seed)
    rates: Mapping[str, list[float]] = {
        "day": [1.5 + 1.5 * sin(2 * pi * at / DAY_SECONDS) for at in range(DAY_SECONDS)],
        "steady": [2.0] * (4 * HOUR_SECONDS),
        "edge": [0.875 + 0.02 * (-1) ** (at // 90) for at in range(4 * HOUR_SECONDS)],
        "bursts": [12.0 if at % 1800 < 60 else 0.2 for at in range(4 * HOUR_SECONDS)],
        "sawtooth": [5.0 * (at % 600) / 600 for at in range(4 * HOUR_SECONDS)],
        "rare": [1.0 if at % 7200 == 600 else 0.0 for at in range(DAY_SECONDS)],
        "silence": [0.0] * (4 * HOUR_SECONDS),
    }
    return {
        name: Traffic(
            arrivals=_arrivals(rate, draw, is_exact=name == "rare"),
            service_seconds=_SERVICE_SECONDS,
        )
        for name, rate in rates.items()
    }


def recorded() -> Mapping[str, Traffic]:
    """Return an hour of each of two services, as it came."""
    return {
        name: Traffic(arrivals=_read(name), service_seconds=_SERVICE_SECONDS) for name in RECORDED
    }


def _read(name: str) -> tuple[int, ...]:
    lines = (_RECORDED_FOLDER / f"{name}.txt").read_text().splitlines()
    return tuple(int(each) for line in lines if line[:1] != "#" for each in line.split())


def _arrivals(rates: list[float], draw: random.Random, *, is_exact: bool) -> tuple[int, ...]:
    return tuple(round(rate) if is_exact else _poisson(rate, draw) for rate in rates)


def _poisson(rate: float, draw: random.Random) -> int:
    """Return how many come in a second when so many do on average."""
    count, passed = 0, draw.expovariate(1.0) if rate else 1.0
    while rate and passed < rate:
        count, passed = count + 1, passed + draw.expovariate(1.0)
    return count
