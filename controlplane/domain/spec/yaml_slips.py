"""Each slip that the parser stops at, told by the text around it."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from controlplane.domain.facts.sources import yaml_language
from controlplane.domain.spec.document import Mark
from controlplane.domain.spec.errors import SpecError
from controlplane.domain.spec.yaml_lines import (
    first_key,
    indentation_of,
    indented_with_tab,
    inline_value,
    line_above,
    quoted,
    with_line,
)

_FORBIDDEN = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_QUOTED_STYLES = ("'", '"')


@dataclass(frozen=True, kw_only=True)
class Slip:
    """One syntax error, and the text in which it is mended where only one thing can be meant."""

    error: SpecError
    mended: str | None = None


@dataclass(frozen=True, kw_only=True)
class Stop:
    """Where the parser gave up: lines and columns count from 0."""

    lines: list[str]
    line: int
    column: int
    began: tuple[int, int] | None
    last: Any

    @property
    def text(self) -> str:
        return self.lines[self.line] if self.line < len(self.lines) else ""


def slip_at(line: int, column: int, message: str, hint: str, mended: str | None = None) -> Slip:
    mark = Mark(line=line + 1, column=column + 1)
    error = SpecError(
        path="", message=f"{message}.", line=mark.line, column=mark.column, hint=hint,
        source=yaml_language(),
    )  # fmt: skip
    return Slip(error=error, mended=mended)


def _bad_start(stop: Stop) -> Slip | None:
    if indented_with_tab(stop.text):
        return _tab(stop)
    line, column = stop.began or (stop.line, stop.column)
    value = inline_value(stop.lines[line], column)
    if not value:
        return None
    first = "a backtick" if value[0] == "`" else f"`{value[0]}`"
    written = "" if "`" in value else f": `{quoted(value)}`"
    return slip_at(
        line, column, f"A text cannot begin with {first} in YAML",
        f"Write it in quotes{written}.",
        with_line(stop.lines, line, stop.lines[line].replace(value, quoted(value), 1)),
    )  # fmt: skip


def _tab(stop: Stop) -> Slip:
    widened = [
        line if not indented_with_tab(line) else line[: _margin(line)].replace("\t", "  ")
        + line[_margin(line) :]
        for line in stop.lines
    ]  # fmt: skip
    return slip_at(
        stop.line, stop.text.index("\t"), "The line is indented with a tab, which YAML forbids",
        "Indent it with spaces, as many as its neighbours have.", "\n".join(widened),
    )  # fmt: skip


def _margin(line: str) -> int:
    return len(line) - len(line.lstrip())


def _second_colon(stop: Stop) -> Slip | None:
    line = stop.text
    key = first_key(line)
    if key is not None and key.end < stop.column:
        value = line[key.end :].strip()
        return slip_at(
            stop.line, stop.column, f"The value of `{key.name}` has a colon and a space in it, "
            "which begins another setting", f"Write the value in quotes: `{quoted(value)}`.",
            with_line(stop.lines, stop.line, f"{line[: key.end]} {quoted(value)}"),
        )  # fmt: skip
    above = line_above(stop.lines, stop.line)
    if above is None:
        return None
    if (parent := first_key(stop.lines[above])) is None:
        return _no_colon(stop.lines, above)
    value = stop.lines[above][parent.end :].strip()
    name = first_key(line)
    return slip_at(
        stop.line, indentation_of(line), f"`{name.name if name else line.strip()}` is indented "
        f"under `{parent.name}`, which has the value `{value[:40]}` already",
        f"Begin it in the column of `{parent.name}`, or take the value away.",
    )  # fmt: skip


def _no_colon(lines: list[str], number: int) -> Slip:
    line = lines[number]
    margin, text = indentation_of(line), line.strip()
    if tight := re.match(r"([\w.-]+):(\S.*)$", text):
        written = f"{tight[1]}: {tight[2]}"
        message = f"`{text[:60]}` has no space after its colon"
    else:
        name, _, value = text.partition(" ")
        written = f"{name}: {value}".rstrip()
        message = f"`{text[:60]}` has no colon"
    mended = with_line(lines, number, " " * margin + written)
    return slip_at(number, margin, message, f"Write `{written[:80]}`.", mended)


def _lone_key(stop: Stop) -> Slip:
    return _no_colon(stop.lines, stop.began[0] if stop.began else stop.line)


def _open_quote(stop: Stop) -> Slip:
    line, column = stop.began or (stop.line, stop.column)
    return _unclosed_quote(stop.lines, line, column)


def _unclosed_quote(lines: list[str], line: int, column: int) -> Slip:
    text = lines[line].rstrip()
    quote = text[column : column + 1]
    return slip_at(
        line, column, f"The quote `{quote}` that opens here is not closed on its line",
        "Close it at the end of the value.", with_line(lines, line, text + quote),
    )  # fmt: skip


def _no_key(stop: Stop) -> Slip | None:
    last = stop.last
    if isinstance(last, yaml.ScalarEvent) and last.style in _QUOTED_STYLES:
        start, end = _marks(last)
        if start.line != end.line:
            return _unclosed_quote(stop.lines, start.line, start.column)
        if end.line == stop.line:
            return _after_quote(stop, start, end)
    text = stop.text.strip()
    if text.startswith("- "):
        return slip_at(
            stop.line,
            stop.column,
            "An item of a list stands among the keys of a mapping",
            "Write a key there, or put the list under a key of its own.",
        )
    return _indentation(stop) if first_key(stop.text) else None


def _marks(event: Any) -> tuple[Any, Any]:
    return event.start_mark, event.end_mark


def _after_quote(stop: Stop, start: Any, end: Any) -> Slip:
    line = stop.text
    value, beyond = line[start.column :].rstrip(), line[stop.column - 1 : stop.column]
    written = quoted(value if beyond.isspace() else value[1:].removesuffix(stop.text[start.column]))
    return slip_at(
        stop.line, end.column - 1, f"The quote closes here, and `{line[stop.column :]}` "
        "stands after it", f"Write quotes of the other kind around the whole: `{written}`.",
        with_line(stop.lines, stop.line, line[: start.column] + written),
    )  # fmt: skip


def _indentation(stop: Stop) -> Slip:
    key, here = first_key(stop.text), indentation_of(stop.text)
    nearest: dict[int, str] = {}
    for line in reversed(stop.lines[: stop.line]):
        if other := first_key(line):
            nearest.setdefault(indentation_of(line), other.name)
        if other and indentation_of(line) < here:
            break
    ways = [f"{column} to stand beside `{name}`" for column, name in sorted(nearest.items())]
    return slip_at(
        stop.line, here, f"`{key.name if key else stop.text.strip()}` is indented by {here}, and "
        "no setting above it begins in that column", f"Indent it by {', or by '.join(ways)}.",
    )  # fmt: skip


def _among_items(stop: Stop) -> Slip:
    name = first_key(stop.text)
    return slip_at(
        stop.line, stop.column, f"`{name.name if name else stop.text.strip()}` stands among the "
        "items of a list", "Begin each item with `- `, or indent the line as its own block.",
    )  # fmt: skip


def _list_on_key_line(stop: Stop) -> Slip:
    return slip_at(
        stop.line, stop.column, "A list of `- ` items cannot begin on the line of its key",
        "Begin the items on the next line, or write `[a, b]`.",
    )  # fmt: skip


def _open_bracket(stop: Stop) -> Slip:
    line, column = stop.began or (stop.line, stop.column)
    opening = _character(stop, line, column)
    closing = {"[": "]", "{": "}"}.get(opening, opening)
    if line == stop.line:
        return slip_at(stop.line, stop.column, f"Between `{opening}` and `{closing}` a comma is "
                     "missing here", f"Put `,` before it, or `{closing}`.")  # fmt: skip
    closed = with_line(stop.lines, line, stop.lines[line].rstrip().rstrip(",") + closing)
    return slip_at(
        line, column, f"The bracket `{opening}` that opens here is not closed",
        f"Close it with `{closing}`.", closed if _is_over(stop.lines, line) else None,
    )  # fmt: skip


def _is_over(lines: list[str], number: int) -> bool:
    below = next((line for line in lines[number + 1 :] if line.strip()), "")
    is_key = not below or re.match(r"\s*[\w.-]+:", below)
    return bool(is_key) and indentation_of(below) <= indentation_of(lines[number])


def _escape(stop: Stop) -> Slip:
    line = stop.text
    start = line.rfind("\\", 0, stop.column + 1)
    mended = with_line(stop.lines, stop.line, line.replace("\\", "/"))
    return slip_at(
        stop.line, max(start, 0), f"`{line[start : start + 2]}` is no escape that double quotes "
        "know", "Use single quotes, or write the backslash twice.", mended,
    )  # fmt: skip


def _second_start(stop: Stop) -> Slip:
    first = next((line for line in stop.lines if line.strip() and line[0] != "#"), "")
    margin = indentation_of(first)
    if margin and indentation_of(stop.text) < margin:
        return slip_at(stop.line, stop.column, "The line is indented less than the first one",
                     "Begin all keys of the top in the same column.")  # fmt: skip
    beyond = stop.text[stop.column :][:40]
    message = f"`{beyond}` stands after the end of the file's one value"
    return slip_at(stop.line, stop.column, message, "Remove it.")


def _directive(stop: Stop) -> Slip:
    mended = with_line(stop.lines, stop.line, "")
    return slip_at(stop.line, 0, "A line cannot begin with `%`", "Remove it.", mended)


def _no_value(stop: Stop) -> Slip | None:
    letter = stop.text[stop.column : stop.column + 1]
    if not letter:
        return None
    return slip_at(stop.line, stop.column, f"`{letter}` stands where a value should",
                 "Remove it, or write the value in quotes.")  # fmt: skip


def _block_text(stop: Stop) -> Slip:
    line, column = stop.began or (stop.line, stop.column)
    return slip_at(line, column, f"After `{_character(stop, line, column)}` the line must end",
                 "Write the text on the next lines, indented, or in quotes here.")  # fmt: skip


def _character(stop: Stop, line: int, column: int) -> str:
    return stop.lines[line][column : column + 1]


TELLERS: Mapping[str, Callable[[Stop], Slip | None]] = {
    "cannot start any token": _bad_start,
    "tab character": _tab,
    "mapping values are not allowed": _second_colon,
    "expected ':'": _lone_key,
    "unexpected end of stream": _open_quote,
    "unexpected document indicator": _open_quote,
    "',' or '": _open_bracket,
    "expected key": _no_key,
    "'-' indicator": _among_items,
    "block sequence entries": _list_on_key_line,
    "alphabetic or numeric": _bad_start,
    "unknown escape": _escape,
    "hexdecimal": _escape,
    "<document start>": _second_start,
    "directive": _directive,
    "node content": _no_value,
    "comment or line break": _block_text,
    "indentation indicator": _block_text,
}
"""A part of the parser's own sentence -> who tells what is behind it."""
