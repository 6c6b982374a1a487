"""What is wrong with the text of a config, before any rule can run."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from controlplane.domain.facts.sources import Source, truss


class Problem(StrEnum):
    """Kinds of schema error; the value is the permanent code of the finding."""

    UNREADABLE = "EH001"
    UNKNOWN_KEY = "EH002"
    MISPLACED_KEY = "EH003"
    WRONG_TYPE = "EH004"
    NOT_ALLOWED = "EH005"
    MISSING = "EH006"
    DUPLICATE_KEY = "EH007"
    CONTRADICTION = "EH008"

    @property
    def label(self) -> str:
        """The name as a finding shows it, such as `unknown-key`."""
        return self.name.lower().replace("_", "-")


@dataclass(frozen=True, kw_only=True)
class SpecError:
    path: str
    """Dotted; empty for the whole file."""
    message: str
    line: int | None = None
    """From 1."""
    column: int | None = None
    """From 1."""
    hint: str | None = None
    problem: Problem = Problem.UNREADABLE
    patch: Mapping[str, Any] | None = None
    """Dotted path -> value (None removes) that mends it, where that is certain."""
    source: Source = field(default_factory=lambda: truss("config models"))

    @property
    def code(self) -> str:
        return self.problem.value

    def line_in(self, file: str) -> str:
        """Return the error as one line of a terminal: where, what, and what to do."""
        place = f"{file}:{self.line}:{self.column}" if self.line else file
        words = " ".join(filter(None, (self.message, self.hint)))
        return f"{place}: error {self.code} {self.problem.label}: {words}"

    def to_json(self) -> dict[str, Any]:
        return {
            "code": self.code,
            "path": self.path,
            "line": self.line,
            "column": self.column,
            "message": self.message,
            "hint": self.hint,
        }
