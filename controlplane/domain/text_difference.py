"""Two texts -> the lines that differ, with a little of what stands around them."""

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum

_AROUND = 2


class LineKind(StrEnum):
    KEPT = "kept"
    REMOVED = "removed"
    ADDED = "added"
    SKIPPED = "skipped"
    """Stands for lines that did not change and are not shown."""


@dataclass(frozen=True, kw_only=True)
class DifferenceLine:
    kind: LineKind
    text: str = ""

    def __str__(self) -> str:
        return f"{_MARKS[self.kind]}{self.text}"


_MARKS = {
    LineKind.KEPT: "  ",
    LineKind.REMOVED: "- ",
    LineKind.ADDED: "+ ",
    LineKind.SKIPPED: "…",
}


def text_difference(before: str, after: str) -> tuple[DifferenceLine, ...]:
    """Return what changed line by line; nothing where the texts are the same."""
    old, new = before.splitlines(), after.splitlines()
    if old == new:
        return ()
    groups = SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(_AROUND)
    return tuple(_lines(list(groups), old, new))


def _lines(
    groups: list[list[tuple[str, int, int, int, int]]], old: list[str], new: list[str]
) -> Iterator[DifferenceLine]:
    for number, group in enumerate(groups):
        if number or group[0][1]:
            yield DifferenceLine(kind=LineKind.SKIPPED)
        for operation, old_start, old_end, new_start, new_end in group:
            if operation == "equal":
                yield from _marked(LineKind.KEPT, old[old_start:old_end])
            else:
                yield from _marked(LineKind.REMOVED, old[old_start:old_end])
                yield from _marked(LineKind.ADDED, new[new_start:new_end])
    if groups and groups[-1][-1][2] < len(old):
        yield DifferenceLine(kind=LineKind.SKIPPED)


def _marked(kind: LineKind, lines: list[str]) -> Iterator[DifferenceLine]:
    return (DifferenceLine(kind=kind, text=line) for line in lines)
