"""Single lines of YAML text, read without a parser, where the parser has given up."""

import re
from dataclasses import dataclass

_KEY = re.compile(
    r"\s*(?:- +)*(?P<name>\"[^\"]*\"|'[^']*'|[^\s#&*!|>'\"%@`{}\[\],][^:#]*?)\s*:(?=\s|$)"
)


@dataclass(frozen=True, kw_only=True)
class LineKey:
    """The key that a line begins with, and where its colon ends."""

    name: str
    end: int


def first_key(line: str) -> LineKey | None:
    match = _KEY.match(line)
    return LineKey(name=match["name"].strip("'\""), end=match.end()) if match else None


def indentation_of(line: str) -> int:
    return len(line) - len(line.lstrip())


def indented_with_tab(line: str) -> bool:
    return "\t" in line[: indentation_of(line)]


def line_above(lines: list[str], number: int) -> int | None:
    """Return the number of the nearest line above that says something."""
    for above in range(number - 1, -1, -1):
        text = lines[above].strip()
        if text and not text.startswith("#"):
            return above
    return None


def inline_value(line: str, column: int) -> str:
    return re.split(r"\s+#", line[column:], maxsplit=1)[0].rstrip()


def quoted(value: str) -> str:
    """Return the text as YAML writes it in quotes, with as few of them doubled as can be."""
    if "'" in value and '"' not in value and "\\" not in value:
        return f'"{value}"'
    return "'" + value.replace("'", "''") + "'"


def with_line(lines: list[str], number: int, line: str) -> str:
    return "\n".join([*lines[:number], line, *lines[number + 1 :]])
