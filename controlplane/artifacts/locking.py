"""The store's lock: many may add or take at once, a sweep runs alone."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def shared(root: Path) -> Iterator[None]:
    """Hold the store against a sweep."""
    with _opened(root) as descriptor:
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        yield


@contextmanager
def exclusive(root: Path) -> Iterator[bool]:
    """Give whether the store could be had alone; held until the end of the block."""
    with _opened(root) as descriptor:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True


@contextmanager
def _opened(root: Path) -> Iterator[int]:
    root.mkdir(parents=True, exist_ok=True)
    descriptor = _open(root / "lock")
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _open(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except PermissionError:
        # Another user made it; to hold it, reading is enough.
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
