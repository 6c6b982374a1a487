"""How to start an engine, without starting it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from controlplane.domain.commands.report import Changed, NotCarried


@dataclass(frozen=True, kw_only=True)
class Start:
    model_dir: str
    host: str
    port: int
    python: str
    threads: int
    memory_bytes: int
    """Of the host or its GPU that the engine keeps within."""
    version: str | None = None
    """Of the runtime; None for the one that its commands are written for."""
    computes_bfloat16: bool = False
    """Of a CPU: whether it does so by itself. An engine that was leased as much is told."""
    runs_remote_code: bool = False
    traces_url: str | None = None
    """Of a collector that takes OTLP over HTTP: engines that can tell it of their work."""

    def shared(self) -> dict[str, Any]:
        names = ("model_dir", "host", "port", "python", "threads", "memory_bytes",
                 "runs_remote_code", "traces_url")  # fmt: skip
        return {name: getattr(self, name) for name in names}


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
        return tuple(f"{folder}/{word}" if word in self.files else word for word in self.argv)
