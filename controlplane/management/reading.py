"""Files that commands are given: a config, and the facts of a checkpoint."""

import json
import sys
from pathlib import Path

from controlplane.domain.facts import checkpoints
from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.sources.facts import folder_facts
from controlplane.sources.failures import SourceFailure

CLEAN, BLOCKED, UNREADABLE = 0, 1, 2
"""Exit statuses that the commands which judge a config share."""


class UnreadableError(Exception):
    """A file that was named cannot be read; the text says which and why."""


def read_config_text(file: str) -> str:
    """Return the text of a file, or of standard input for `-`. Raises `UnreadableError`."""
    try:
        return sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UnreadableError(f"{file}: cannot be read: {error}.") from None


def read_checkpoint(path: Path) -> CheckpointFacts:
    """Return the facts of a `config.json` or a checkpoint folder. Raises `UnreadableError`."""
    try:
        if path.is_dir():
            return folder_facts(path, commit=None)
        config = json.loads(path.read_text(encoding="utf-8"))
    except SourceFailure as failure:
        raise UnreadableError(f"{path}: {failure.failure.sentence}") from None
    except (OSError, ValueError) as error:
        raise UnreadableError(f"{path}: cannot be read: {error}.") from None
    if not isinstance(config, dict):
        raise UnreadableError(f"{path}: is not a JSON object.")
    return checkpoints.read(config)
