from dataclasses import dataclass
from enum import StrEnum


class FaultKind(StrEnum):
    UNKNOWN = "unknown"
    VALUE = "value"
    ELSEWHERE = "elsewhere"
    MISPLACED = "misplaced"
    UNLISTED = "unlisted"
    """A key inside of it is not among those that pass."""


@dataclass(frozen=True, kw_only=True)
class ArgumentFault:
    kind: FaultKind
    written: str
    """The name as the config has it."""
    reason: str
    meant: str | None = None
    """The name that was meant, where one is near."""
