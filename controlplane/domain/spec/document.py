"""Plain data with the place of every key, and the bounds that text is read within."""

from dataclasses import dataclass
from typing import Any

from controlplane.domain.facts.sources import enginehouse
from controlplane.domain.spec.errors import Problem, SpecError

MAX_TEXT_BYTES = 256 * 1024
MAX_DEPTH = 32
MAX_VALUES = 20_000
MAX_SCALAR_CHARACTERS = 64 * 1024
MAX_INTEGER_CHARACTERS = 40

Path = tuple[str | int, ...]


@dataclass(frozen=True, kw_only=True)
class Mark:
    """A place in the text, both counted from 1."""

    line: int
    column: int


@dataclass(frozen=True, kw_only=True)
class Document:
    """Plain data, where each key of it stands, and the keys that were given twice."""

    data: Any
    marks: dict[Path, Mark]
    errors: tuple[SpecError, ...] = ()

    @property
    def start(self) -> Mark | None:
        return next(iter(self.marks.values()), None)

    def mark(self, path: Path) -> Mark | None:
        """Return the place of a key, or of its nearest parent that is in the text."""
        for length in range(len(path), -1, -1):
            if mark := self.marks.get(path[:length]):
                return mark
        return None


@dataclass(frozen=True, kw_only=True)
class Unreadable:
    """Text that is not YAML or JSON: every slip found in it."""

    errors: tuple[SpecError, ...]
    mended: Document | None = None
    """What it says with the slips mended, where each could mean one thing only."""


class RefusedError(Exception):
    """Stops reading at the first thing that makes the rest meaningless."""

    def __init__(self, message: str, mark: Mark | None = None, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.error = SpecError(
            path="",
            message=message,
            line=mark.line if mark else None,
            column=mark.column if mark else None,
            hint=hint,
            source=enginehouse("Reading a config"),
        )


def duplicate(path: Path, mark: Mark | None) -> SpecError:
    return SpecError(
        path=".".join(map(str, path)),
        message=f"`{path[-1]}` is given twice.",
        line=mark.line if mark else None,
        column=mark.column if mark else None,
        hint="Keep one of the two.",
        problem=Problem.DUPLICATE_KEY,
    )


def check_text(value: str, mark: Mark | None = None) -> str:
    """Return the text, or refuse what neither JSON nor a database column can hold."""
    if "\x00" in value or any("\ud800" <= letter <= "\udfff" for letter in value):
        raise RefusedError("A text holds a character that cannot be stored.", mark)
    return value
