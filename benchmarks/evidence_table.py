"""One section of the page of evidence: where and how it was seen, and a table of what."""

from collections.abc import Iterable, Mapping
from typing import Any


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
    where = found.get("card") or found.get("machine")
    seen = f"`{name}`: {where}, {found['date']}, `{found['command']}`"
    lines = [_row(columns), "|---" * len(columns) + "|", *map(_row, rows)]
    return "\n".join([f"## {title}", "", seen, "", *lines, *more, ""])


def about(subject: str, name: str) -> str:
    """Return a title that also says which stage a result's file is of."""
    return f"{subject}: `{name.partition('-')[0]}`"


def engine_lines(found: Mapping[str, Any]) -> list[str]:
    """Return what the engine wrote into its log, as a list below a table."""
    said = [f"- {line}" for line in found.get("engine_lines", ())]
    return ["", "The engine's own lines:", "", *said] if said else []


def one_line(text: str) -> str:
    """Return the text as a cell of a table takes it."""
    return " ".join(text.split()).replace("|", "\\|")


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
