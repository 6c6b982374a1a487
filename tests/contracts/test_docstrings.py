"""A docstring of one line says more than the name, the parameters and the types beside it."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
_ONE_LINE = re.compile(r'"""([^"]+)"""')
_DEFINES = ("def ", "async def ")
_LONGEST_HEAD_LINES = 16
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+")
_SMALL = frozenset(
    _WORD.findall(
        "a all an and are as at be been by each every for from give has have how if in into"
        " is it its make of on one only or return returns so that the their them there these they"
        " this those to was were what when where whether which who whose will with yield"
    )
)
_SHOWN_TO_USERS = ("api.py", "commands")
"""What REST views and commands say goes into the specification and into `--help`."""


def _product() -> Iterator[Path]:
    for folder in ("apps", "controlplane", "workers"):
        for path in (ROOT / folder).rglob("*.py"):
            if not {"migrations", *_SHOWN_TO_USERS}.intersection(path.parts):
                yield path


def _heads_and_words(text: str) -> Iterator[tuple[str, str]]:
    """Yield what defines a function, and its docstring where that has one line."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        says = _ONE_LINE.fullmatch(line.strip())
        if says and number and lines[number - 1].endswith(":"):
            head = _head_above(lines, number)
            if head:
                yield head, says[1]


def _head_above(lines: list[str], number: int) -> str:
    for first in range(number - 1, max(number - _LONGEST_HEAD_LINES, -1), -1):
        if lines[first].lstrip().startswith(_DEFINES):
            return " ".join(lines[first:number])
        if not lines[first].strip():
            break
    return ""


def _stems(text: str) -> frozenset[str]:
    words = (each.casefold() for each in _WORD.findall(text))
    return frozenset(each[:5].rstrip("es") for each in words if each not in _SMALL)


def _repeated(text: str) -> list[str]:
    """Return the docstrings whose every word stands in the line above already."""
    return [says for head, says in _heads_and_words(text) if _stems(says) <= _stems(head)]


@pytest.mark.parametrize(
    "head",
    [
        'def build_get(team: Team, number: int) -> Build:\n    """Return the build of a team."""\n',
        'def store(self) -> None:\n    """Store it."""\n',
    ],
)
def test_a_name_said_twice_is_found(head: str) -> None:
    assert _repeated(head)


def test_a_unit_is_more_than_the_name() -> None:
    head = 'def size(folder: Path) -> int:\n    """Return the size of a folder in blocks."""\n'
    assert not _repeated(head)


def test_no_docstring_says_the_name_again() -> None:
    repeated = {str(path.relative_to(ROOT)): _repeated(path.read_text()) for path in _product()}
    assert {path: says for path, says in repeated.items() if says} == {}
