"""A serving command that was found in what was pasted."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from controlplane.domain.commands.words import Word

MAX_COMMAND_BYTES = 64 * 1024


class Server(StrEnum):
    """The programs whose command lines are read; the value names the runtime."""

    VLLM = "vllm"
    TRTLLM = "trtllm"

    @property
    def command(self) -> str:
        return "vllm serve" if self is Server.VLLM else "trtllm-serve"


class RefusedCommandError(ValueError):
    """What was pasted cannot be imported; the text says why, `hint` what to do."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


@dataclass(frozen=True, kw_only=True)
class CommandContext:
    """What stands around the server's own arguments."""

    environment: Mapping[str, Word] = field(default_factory=dict)
    folders: Mapping[str, str] = field(default_factory=dict)
    """Path inside the container -> path on the host."""
    gpus: int | None = None
    files: Mapping[str, str] = field(default_factory=dict)
    """Files that the pasted text writes itself."""
    dropped: tuple[tuple[str, str], ...] = ()
    """What else was said, and why it is not carried over."""


@dataclass(frozen=True, kw_only=True)
class Invocation:
    server: Server
    arguments: tuple[Word, ...]
    context: CommandContext = field(default_factory=CommandContext)
