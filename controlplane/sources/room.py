"""Whether the disk has room, asked before hours of work instead of found out after them."""

import os
import shutil
from pathlib import Path

from controlplane.domain.spec import CheckpointRepository
from controlplane.sources.failures import disk_full


def check_room(checkpoint: CheckpointRepository, folder: Path, needed_bytes: int) -> None:
    """Raise SourceFailure when the disk that holds `folder` has less than that free."""
    free = shutil.disk_usage(folder).free
    if needed_bytes > free:
        raise disk_full(checkpoint, os.fspath(folder), needed_bytes, free)
