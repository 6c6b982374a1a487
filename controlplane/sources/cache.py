"""The folder where downloads are kept between tries and builds."""

import shutil
import time
from pathlib import Path

from controlplane.sources.resolved import Resolved

_FOLDER = "hub"


def commit_folder(cache_dir: Path, resolved: Resolved) -> Path:
    """Return where the files of one commit of one repository are kept."""
    repository = resolved.checkpoint.repo.replace("/", "--")
    return cache_dir / _FOLDER / repository / resolved.commit


def prune(cache_dir: Path, older_than_seconds: float) -> int:
    """Remove commits that no build has fetched for that long; return how many.

    Safe beside running builds: what they published are links of their own.
    """
    removed = 0
    for folder in cache_dir.glob(f"{_FOLDER}/*/*"):
        if time.time() - _last_use(folder) >= older_than_seconds:
            shutil.rmtree(folder)
            removed += 1
    return removed


def _last_use(folder: Path) -> float:
    # Each fetch opens the lock beside every file for writing, which renews its time.
    return max((each.stat().st_mtime for each in folder.rglob("*")), default=0.0)
