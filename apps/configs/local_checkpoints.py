"""Folders with a checkpoint that lie where this server lets `LOCAL` ones lie."""

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from django.conf import settings

_MOST_OFFERED = 100
_MOST_LOOKED_AT = 2_000
"""Folders, so that a root with a whole disk below it costs no page its time."""
_DEEPEST = 3


def local_checkpoints() -> list[str]:
    """Return the folders below the roots that hold a `config.json`, by name."""
    folders = (folder for root in settings.LOCAL_CHECKPOINT_ROOTS for folder in _folders(root))
    looked_at = islice(folders, _MOST_LOOKED_AT)
    return sorted(islice(filter(_is_checkpoint, looked_at), _MOST_OFFERED))


def _is_checkpoint(folder: str) -> bool:
    return Path(folder, "config.json").is_file()


def _folders(folder: str, depth: int = 0) -> Iterator[str]:
    """Yield folders, those above first; one that may not be read has none."""
    try:
        inner = [each.path for each in os.scandir(folder) if each.is_dir()]
    except OSError:
        return
    for path in sorted(inner):
        if Path(path).name.startswith("."):
            continue
        yield path
        if depth + 1 < _DEEPEST and not _is_checkpoint(path):
            yield from _folders(path, depth + 1)
