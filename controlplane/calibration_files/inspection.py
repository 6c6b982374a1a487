"""One pass over an uploaded file: which column, how many rows, what of them is of use."""

import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TextIO

from controlplane.calibration_files import problems
from controlplane.calibration_files.found import Inspection
from controlplane.calibration_files.rows import PlacedRow, is_kept_as_it_is, read_rows
from controlplane.domain.calibration_rows import (
    CONVERSATIONS,
    KNOWN_BY,
    PAIRS,
    TEXT,
    OddPair,
    columns_of,
    pair_of,
)
from controlplane.domain.facts.calibration_sets import FEWEST_ROWS

SHORTEST_CHARACTERS = 32
"""Less can hardly be the 16 tokens that a sample has at least; a build counts them exactly."""
_SHOWN_ROWS = 10
_SHOWN_CHARACTERS = 1_500


def inspect_rows(path: Path, ending: str, *, rewritten: Path, limit_bytes: int) -> Inspection:
    """Return what the file holds; a form that builds do not read is written anew. Raises BadFile.

    Every row is looked at: a build must not stumble over the last one.
    """
    inspection = Inspection(normalized=not is_kept_as_it_is(path, ending))
    with ExitStack() as stack:
        copy: TextIO | None = None
        if inspection.normalized:
            copy = stack.enter_context(rewritten.open("w", encoding="utf-8"))
        for row in read_rows(path, ending, limit_bytes=limit_bytes):
            column = _column_of(row, inspection.column)
            inspection.column = inspection.column or column
            _count(inspection, _text_of(row, column))
            if copy is not None:
                copy.write(json.dumps(_kept(row, column), ensure_ascii=False) + "\n")
    if not inspection.rows:
        raise problems.empty()
    if inspection.usable_rows < FEWEST_ROWS:
        raise problems.too_few(inspection.usable_rows, FEWEST_ROWS, inspection.empty_rows)
    if inspection.column in CONVERSATIONS:
        inspection.column = CONVERSATIONS[0]
    return inspection


def _kept(row: PlacedRow, column: str) -> Mapping[str, Any]:
    return {name: row.content[name] for name in columns_of(column) if name in row.content}


def _column_of(row: PlacedRow, before: str) -> str:
    names = [each for each in KNOWN_BY if each in row.content]
    if not before and not names:
        raise problems.no_column(row.place, sorted(map(str, row.content)), row.line)
    if before and before not in names:
        raise problems.other_column(row.place, before, row.line)
    return before or names[0]


def _count(inspection: Inspection, text: str) -> None:
    inspection.rows += 1
    if not text.strip():
        inspection.empty_rows += 1
        return
    inspection.short_rows += len(text.strip()) < SHORTEST_CHARACTERS
    if len(inspection.head) < _SHOWN_ROWS:
        inspection.head.append(text[:_SHOWN_CHARACTERS].replace("\0", "\ufffd"))


def _text_of(row: PlacedRow, column: str) -> str:
    """Return the row as people read it; raises BadFile for what no build could use."""
    if column in PAIRS:
        return _text_of_pair(row, column)
    value = row.content[column]
    if value is None:
        return ""
    if column == TEXT:
        if not isinstance(value, str):
            raise _bad(row, column, f"is {_kind(value)}, not a text")
        return _whole(row, column, value)
    if not isinstance(value, list):
        raise _bad(row, column, f"is {_kind(value)}, not a list of turns")
    return _whole(row, column, "\n".join(_turns(row, column, value)))


def _text_of_pair(row: PlacedRow, column: str) -> str:
    try:
        pair = pair_of(row.content, column)
    except OddPair as error:
        raise problems.odd_pair(row.place, str(error), row.line) from None
    if pair.is_empty:
        return ""
    words = pair.text if pair.is_text else "\n".join(_turns(row, column, pair.turns))
    return _whole(row, column, words)


def _turns(row: PlacedRow, column: str, turns: list[Any]) -> Iterator[str]:
    for number, turn in enumerate(turns, start=1):
        if not isinstance(turn, Mapping):
            raise _bad(row, column, f"has {_kind(turn)} as turn {number}, not an object")
        speaker, text = turn.get("role", turn.get("from")), turn.get("content", turn.get("value"))
        if not isinstance(speaker, str):
            raise _bad(row, column, f"has a turn {number} without a `role`")
        if text is not None and not isinstance(text, str | list):
            raise _bad(row, column, f"has {_kind(text)} as the content of turn {number}")
        words = text if isinstance(text, str) else json.dumps(text or "", ensure_ascii=False)
        yield f"{speaker}: {words}"


def _whole(row: PlacedRow, column: str, text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise _bad(row, column, "spells half a surrogate pair, which is no text") from None
    return text


def _bad(row: PlacedRow, column: str, reason: str) -> problems.BadFile:
    return problems.bad_value(row.place, column, reason, row.line)


def _kind(value: object) -> str:
    names = {str: "a text", list: "a list", dict: "an object", bool: "true or false"}
    return names.get(type(value), "nothing" if value is None else "a number")
