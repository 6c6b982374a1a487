"""The folder where downloads are kept between tries and builds."""

import hashlib
import shutil
from contextlib import suppress
from pathlib import Path

from controlplane.clock import SYSTEM, Clock
from controlplane.domain.spec.choices import CheckpointSource
from controlplane.sources.resolved import Resolved

_HUB, _BUCKETS, _ARCHIVES = "hub", "buckets", "archives"
CALIBRATION = "calibration"
"""Where build steps keep the data sets of teams, one folder each."""
CLASSES = "classes"
"""Where they keep what model classes make of checkpoints' headers, one folder for each pair."""
_PRUNED = tuple(
    f"{place}/*" for place in (f"{_HUB}/*", f"{_BUCKETS}/*", _ARCHIVES, CALIBRATION, CLASSES)
)


def commit_folder(cache_dir: Path, resolved: Resolved) -> Path:
    repo = resolved.checkpoint.repo
    if resolved.checkpoint.source is CheckpointSource.HF:
        return cache_dir / _HUB / repo.replace("/", "--") / resolved.commit
    return cache_dir / _BUCKETS / _short_name(repo) / resolved.commit


def archive_folder(cache_dir: Path, address: str) -> Path:
    return cache_dir / _ARCHIVES / _short_name(address)


def prune(cache_dir: Path, older_than_seconds: float, *, clock: Clock = SYSTEM) -> int:
    """Remove downloads that no build has used for that long; return how many.

    Safe beside running builds: what they published are links of their own.
    """
    removed = 0
    for folder in [each for pattern in _PRUNED for each in cache_dir.glob(pattern)]:
        # What vanishes under the look is in use, or another worker removes it just now.
        with suppress(FileNotFoundError):
            if clock.time() - _last_use(folder) >= older_than_seconds:
                shutil.rmtree(folder)
                removed += 1
    return removed


def _short_name(text: str) -> str:
    # A URI may be longer than a file name, and holds what a file name may not.
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _last_use(folder: Path) -> float:
    # Each fetch opens the lock beside every file for writing, which renews its time.
    return max((each.stat().st_mtime for each in folder.rglob("*")), default=0.0)
