"""What the address of a log asks for: words, a level, a part of it and a time."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.http import HttpRequest

from apps.telemetry.logs import LEVELS
from controlplane import clock

_LONGEST_WORDS = 200
_CHARACTERS_THAT_MEAN = frozenset(r".^$*+?()[]{}|\\")
SINCE = {"15m": timedelta(minutes=15), "1h": timedelta(hours=1), "24h": timedelta(days=1)}
"""How far back a log is read, as the page offers it."""


@dataclass(frozen=True, kw_only=True)
class LogFilter:
    """Which lines of a log are shown; each is empty where all are."""

    words: str = ""
    level: str = ""
    part: str = ""
    """The replica whose lines they are."""
    start: datetime | None = None

    def of(self, owners: Sequence[str]) -> list[str]:
        return [each for each in owners if not self.part or each.endswith(f":{self.part}")]

    def conditions(self) -> dict[str, Any]:
        """Return it as `log_lines` takes it; words are found as they are, in any case."""
        return {
            "search": f"(?i){_escaped(self.words)}" if self.words else None,
            "min_level": self.level or None,
            "start": self.start,
        }


def filter_in(request: HttpRequest) -> LogFilter:
    """Return the filter in the request's address; what it does not know is none."""
    parameters = request.GET
    level = parameters.get("level", "")
    since = SINCE.get(parameters.get("since", ""))
    return LogFilter(
        words=parameters.get("q", "").replace("\0", "").strip()[:_LONGEST_WORDS],
        level=level if level in LEVELS else "",
        part=parameters.get("part", "")[:64],
        start=clock.now() - since if since else None,
    )


def _escaped(words: str) -> str:
    return "".join(f"\\{each}" if each in _CHARACTERS_THAT_MEAN else each for each in words)
