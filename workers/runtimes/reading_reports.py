"""What the reports of the GPU engines have in common: a version page, and lines of a log."""

import json
import re
from collections.abc import Mapping
from typing import Any

from workers.runtimes.launcher import Ask

GIB = 1024**3


def answered_version(ask: Ask) -> str | None:
    """Return the version that the engine tells at its page of that name."""
    try:
        content = json.loads(ask("/version") or b"null")
    except ValueError:
        return None
    return str(content["version"]) if isinstance(content, dict) and "version" in content else None


def last_number(pattern: re.Pattern[str], log: str) -> float | None:
    """Return the number of the last line that the pattern finds."""
    told = pattern.findall(log)
    return float(told[-1].replace(",", "").rstrip(".")) if told else None


def in_bytes(gib: float | None) -> int | None:
    """Return a size that an engine wrote in GiB."""
    return None if gib is None else round(gib * GIB)


def what_is_told(found: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what an engine said, or None where that is its name alone."""
    told = {name: value for name, value in found.items() if value is not None}
    return told if len(told) > 1 else None
