"""What an import or an export says of itself, as data."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Mapped:
    flag: str
    field: str
    value: Any


@dataclass(frozen=True, kw_only=True)
class Changed:
    """A flag and a setting that means something else, or a value that had to change."""

    flag: str
    field: str
    value: Any
    reason: str


@dataclass(frozen=True, kw_only=True)
class Choice:
    label: str
    patch: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Question:
    """What the command leaves open; the first choice is the one that the config has now."""

    flag: str | None
    field: str
    question: str
    choices: tuple[Choice, ...] = ()


@dataclass(frozen=True, kw_only=True)
class NotCarried:
    """Something that the other side has no place for."""

    flag: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class OfferedSecret:
    """A secret that stood in the command, by name; its value is nowhere."""

    name: str
    found_in: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class CommandImport:
    """A config made from a command, with everything that a reader should know of it."""

    server: str
    text: str
    """The config as YAML."""
    complete: bool
    """Whether the config parses; False while the checkpoint is unknown."""
    mapped: tuple[Mapped, ...] = ()
    changed: tuple[Changed, ...] = ()
    questions: tuple[Question, ...] = ()
    not_carried: tuple[NotCarried, ...] = ()
    secrets: tuple[OfferedSecret, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class ConfigExport:
    format: str
    text: str
    """What to paste or save: a shell command, or YAML."""
    files: Mapping[str, str]
    """File name -> content."""
    changed: tuple[Changed, ...] = ()
    """`flag` carries `field` with another meaning."""
    not_carried: tuple[NotCarried, ...] = ()
    """`flag` is the dotted field that has no counterpart."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)
