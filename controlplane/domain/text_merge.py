"""Two changes of one text -> one text: line by line, and what both changed is named."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher


@dataclass(frozen=True, kw_only=True)
class Clash:
    """Lines that both changed, each in their own way."""

    base: str
    theirs: str
    mine: str


@dataclass(frozen=True, kw_only=True)
class Merge:
    """The merged text, with mine where both changed the same lines."""

    text: str
    clashes: tuple[Clash, ...]


@dataclass(frozen=True, kw_only=True)
class _Change:
    start: int
    end: int
    lines: tuple[str, ...]


def merge_texts(base: str, theirs: str, mine: str) -> Merge:
    """Return `base` with the changes of both; what both changed differently is mine."""
    lines = base.splitlines()
    left, right = _changes(lines, theirs.splitlines()), _changes(lines, mine.splitlines())
    merged: list[str] = []
    clashes: list[Clash] = []
    at = 0
    while left or right:
        start, end = _span(left, right)
        ours, others = _taken(right, end), _taken(left, end)
        old = lines[start:end]
        their_lines, my_lines = _applied(old, start, others), _applied(old, start, ours)
        if ours and others and their_lines != my_lines:
            clashes.append(
                Clash(base="\n".join(old), theirs="\n".join(their_lines), mine="\n".join(my_lines))
            )
        merged += lines[at:start] + (my_lines if ours else their_lines)
        at = end
    merged += lines[at:]
    return Merge(text="".join(f"{line}\n" for line in merged), clashes=tuple(clashes))


def _changes(base: Sequence[str], changed: Sequence[str]) -> list[_Change]:
    matcher = SequenceMatcher(None, base, changed, autojunk=False)
    return [
        _Change(start=start, end=end, lines=tuple(changed[new_start:new_end]))
        for operation, start, end, new_start, new_end in matcher.get_opcodes()
        if operation != "equal"
    ]


def _span(left: Sequence[_Change], right: Sequence[_Change]) -> tuple[int, int]:
    """Return the lines of the first change and of all that overlap it."""
    heads = [changes[0] for changes in (left, right) if changes]
    first = min(heads, key=lambda change: (change.start, change.end))
    start, end = first.start, first.end
    grown = True
    while grown:
        near = [
            change.end for change in (*left, *right) if change.start < end or change.start == start
        ]
        grown, end = max(near) > end, max(end, *near)
    return start, end


def _taken(changes: list[_Change], end: int) -> list[_Change]:
    here = [change for change in changes if change.end <= end]
    del changes[: len(here)]
    return here


def _applied(old: Sequence[str], start: int, changes: Sequence[_Change]) -> list[str]:
    lines = list(old)
    for change in reversed(changes):
        lines[change.start - start : change.end - start] = change.lines
    return lines
