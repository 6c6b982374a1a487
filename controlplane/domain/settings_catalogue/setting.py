"""What a setting of an installation is: an environment variable, who reads it, what it does."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One environment variable. `default` and `says` are words, with literals in backticks."""

    name: str
    default: str
    read_by: str
    """The processes that read it, which a new value reaches when they start again."""
    says: str = ""
    is_secret: bool = False
    """Its value is never shown."""
    may_be_a_file: bool = False
    """Whether `<name>_FILE` may name a file that holds it instead."""


@dataclass(frozen=True, kw_only=True)
class Group:
    """Settings that belong together, in the order in which they are told."""

    title: str
    settings: tuple[Setting, ...]
