"""One section of the page of evidence: where and how it was seen, and a table of what."""

import datetime
from collections.abc import Iterable, Mapping
from typing import Any

_GIB = 1024**3


def what_of(name: str) -> str:
    """Return which stage a result's file is of."""
    return name.partition("-")[0]


def came_through(content: Any) -> bool:
    """Return whether a kept result is of a stage that ended well."""
    return not isinstance(content, dict) or content.get("state", "done") == "done"


def section(
    title: str,
    name: str,
    found: Mapping[str, Any],
    rows: Iterable[tuple[str, str]],
    more: Iterable[str] = (),
) -> str:
    """Return a section whose table has two columns, and `more` lines below it."""
    return table(title, name, found, ("what", "found"), rows, more)


def table(
    title: str,
    name: str,
    found: Mapping[str, Any],
    columns: tuple[str, ...],
    rows: Iterable[tuple[str, ...]],
    more: Iterable[str] = (),
) -> str:
    """Return a section with a table of these columns, and `more` lines below it."""
    where = found.get("gpu") or found.get("machine")
    seen = f"`{name}`: {where}, {found['date']}, `{found['command']}`"
    lines = [_row(columns), "|---" * len(columns) + "|", *map(_row, rows)]
    return "\n".join([f"## {title}", "", seen, "", *lines, *more, ""])


def about(subject: str, name: str) -> str:
    """Return a title that also says which stage a result's file is of."""
    return f"{subject}: `{what_of(name)}`"


def engine_lines(found: Mapping[str, Any]) -> list[str]:
    """Return what the engine wrote into its log, as a list below a table."""
    entries = [f"- {line}" for line in found.get("engine_lines", ())]
    return ["", "The engine's own lines:", "", *entries] if entries else []


def amount(key: str, value: int) -> str:
    """Return a figure of a memory plan: tokens as they are, bytes in GiB."""
    return f"{value:,}" if key == "kv_tokens" else f"{value / _GIB:.3f} GiB"


def step_seconds(step: Mapping[str, Any]) -> float:
    """Return how long a step of a build took, from its two moments."""
    began, ended = (datetime.datetime.fromisoformat(step[key].replace("Z", "+00:00"))
                    for key in ("started_at", "finished_at"))  # fmt: skip
    return round((ended - began).total_seconds(), 1)


def one_line(text: str) -> str:
    """Return the text as a cell of a table takes it."""
    return " ".join(text.split()).replace("|", "\\|")


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
