"""Copies of artifacts on this host: made before a start, dropped when unused for a day."""

import math
import os
import shutil
from collections.abc import Collection
from pathlib import Path

from controlplane.clock import SYSTEM, Clock

KEPT_SECONDS = 24 * 3600


def model_folder(models: Path, content_digest: str) -> Path:
    """Return where the copy of an artifact lies on this host."""
    return models / content_digest.rpartition(":")[2]


def mark_used(folder: Path) -> None:
    """Note that a replica is about to use this copy."""
    os.utime(folder)


def prune_models(models: Path, in_use: Collection[str], *, clock: Clock = SYSTEM) -> list[str]:
    """Return the names of the copies that were dropped: unused, and not used lately either."""
    used = {model_folder(models, digest).name for digest in in_use}
    horizon = clock.time() - KEPT_SECONDS
    dropped = []
    for folder in models.iterdir() if models.is_dir() else ():
        if folder.name not in used and _used_at(folder) < horizon:
            shutil.rmtree(folder, ignore_errors=True)
            dropped.append(folder.name)
    return dropped


def _used_at(folder: Path) -> float:
    try:
        return folder.stat().st_mtime
    except FileNotFoundError:  # a copy that has just been moved to its place
        return math.inf
