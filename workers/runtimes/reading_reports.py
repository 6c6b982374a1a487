"""What the reports of the GPU engines have in common: a version page, and lines of a log."""

import re
from collections.abc import Mapping
from contextlib import suppress
from math import isfinite
from typing import Any

from controlplane.domain.json_text import read_json
from workers.runtimes.launcher import Ask

GIB = 1024**3


def answered_version(ask: Ask) -> str | None:
    try:
        content = read_json(ask("/version") or b"null")
    except ValueError:
        return None
    return str(content["version"]) if isinstance(content, dict) and "version" in content else None


def last_number(pattern: re.Pattern[str], log: str) -> float | None:
    numbers = pattern.findall(log)
    return finite_number(numbers[-1].replace(",", "").rstrip(".")) if numbers else None


def finite_number(text: str) -> float | None:
    """Return the number that a text spells; None of one that is none, or has no end."""
    with suppress(ValueError):
        number = float(text)
        return number if isfinite(number) else None
    return None


def whole(number: float) -> int | None:
    """Return the number without its fraction, where it has an end."""
    return int(number) if isfinite(number) else None


def in_bytes(gib: float | None) -> int | None:
    return None if gib is None else whole(gib * GIB + 0.5)


def known_readings(readings: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what an engine said, or None where that is its name alone."""
    report = {name: value for name, value in readings.items() if value is not None}
    return report if len(report) > 1 else None
