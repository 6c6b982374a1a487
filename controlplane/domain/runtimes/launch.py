"""How to start an engine, without starting it."""

from collections.abc import Mapping
from dataclasses import dataclass

from controlplane.domain.commands.report import Changed, NotCarried


@dataclass(frozen=True, kw_only=True)
class Launch:
    """One engine process: its command, what it finds in its environment, files it expects."""

    argv: tuple[str, ...]
    environment: Mapping[str, str]
    files: Mapping[str, str]
    """File name -> content, written into one folder before the start."""
    changed: tuple[Changed, ...] = ()
    """Settings that the command says with another meaning or value."""
    ignored_settings: tuple[NotCarried, ...] = ()
    """Settings that no word of the command says, by their dotted path, and why."""

    def argv_in(self, folder: str) -> tuple[str, ...]:
        """Return the command for files that lie in this folder."""
        return tuple(f"{folder}/{word}" if word in self.files else word for word in self.argv)
