"""How much room a folder's disk has, and whether an error says that it has none."""

import errno
import os
from pathlib import Path

FULL_BYTES = 1024 * 1024
"""Less is no room to work in: a file system may refuse its last blocks to some."""
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


def free_bytes(folder: Path) -> int | None:
    """Return what may still be written there; None where nobody can say."""
    try:
        disk = os.statvfs(folder)
    except OSError:
        return None
    return disk.f_bavail * disk.f_frsize


def is_full(folder: Path) -> bool:
    free = free_bytes(folder)
    return free is not None and free < FULL_BYTES


def says_full(error: OSError) -> bool:
    return error.errno in _FULL
