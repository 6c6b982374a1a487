"""Pasted text -> the one serving command in it."""

from controlplane.domain.commands.invocation import (
    MAX_COMMAND_BYTES,
    Invocation,
    RefusedCommandError,
)
from controlplane.domain.commands.locate_shell import find_in_shell, refuse_shell
from controlplane.domain.commands.locate_yaml import find_in_yaml


def locate(text: str) -> Invocation:
    """Return the serving command in the text. Raises RefusedCommandError."""
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise RefusedCommandError("The text is not UTF-8.") from None
    if size > MAX_COMMAND_BYTES:
        raise RefusedCommandError(
            f"The text is larger than {MAX_COMMAND_BYTES // 1024} KiB.",
            "Paste the serving command alone.",
        )
    if "\x00" in text:
        raise RefusedCommandError("The text holds a character that no command can.")
    if not text.strip():
        raise RefusedCommandError(
            "The text is empty.", "Paste a `vllm serve` or `trtllm-serve` command."
        )
    if located := find_in_yaml(text) or find_in_shell(text):
        return located
    raise refuse_shell(text)
