"""How to start an engine, without starting it."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Launch:
    """One engine process: its command, what it finds in its environment, files it expects."""

    argv: tuple[str, ...]
    environment: Mapping[str, str]
    files: Mapping[str, str]
    """Relative path -> content, written beside the model before the start."""
