"""The store's lock: many may add or take at once, a sweep runs alone.

It belongs to the opened file and is of POSIX's kind: an NFS server takes what its clients lock as
such, and one of `flock` on the server's own host would not see them.
"""

import errno
import fcntl
import os
import stat
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_FILE = "in-use.lock"
_WHOLE_FILE = struct.Struct("hhqqi4x")
"""`struct flock`: type, whence, start, length (0: to the end), process (0 for such a lock)."""
_LOCKED_BY_OTHERS = frozenset({errno.EAGAIN, errno.EACCES})


@contextmanager
def shared(root: Path) -> Iterator[None]:
    """Hold the store against a sweep."""
    with _opened(root) as descriptor:
        _lock(descriptor, fcntl.F_OFD_SETLKW, fcntl.F_RDLCK)
        yield


@contextmanager
def exclusive(root: Path) -> Iterator[bool]:
    """Give whether the store could be had alone; held until the end of the block.

    Raises PermissionError where this user may not write to the store.
    """
    with _opened(root, to_write=True) as descriptor:
        try:
            _lock(descriptor, fcntl.F_OFD_SETLK, fcntl.F_WRLCK)
        except OSError as error:
            if error.errno not in _LOCKED_BY_OTHERS:
                raise
            yield False
        else:
            yield True


def _lock(descriptor: int, how: int, kind: int) -> None:
    fcntl.fcntl(descriptor, how, _WHOLE_FILE.pack(kind, os.SEEK_SET, 0, 0, 0))


@contextmanager
def _opened(root: Path, *, to_write: bool = False) -> Iterator[int]:
    root.mkdir(parents=True, exist_ok=True)
    descriptor = _open(root / _FILE, to_write)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _open(path: Path, to_write: bool) -> int:
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except PermissionError:
        if to_write:
            raise
        # Another user made it in a store that is closed to this one: reading takes no more.
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    _open_to_others(descriptor, path.parent)
    return descriptor


def _open_to_others(descriptor: int, folder: Path) -> None:
    """Give the file the mode of the store, in which a sweep may be another user's."""
    # Another user who made it has done so already.
    with suppress(PermissionError):
        os.fchmod(descriptor, stat.S_IMODE(folder.stat().st_mode) & 0o666)
