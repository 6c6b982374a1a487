"""What a supervised server looks like: a command line, and as which user it runs."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from controlplane.artifacts.variables import LOGIN


@dataclass(frozen=True, kw_only=True)
class ServerCommand:
    """One foreground process that the supervisor starts and keeps alive."""

    argv: tuple[str, ...]
    user: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    without: frozenset[str] = LOGIN
    """Variables that it does not get, wherever they are set."""
