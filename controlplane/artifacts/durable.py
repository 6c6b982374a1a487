"""Writes that either happened whole or did not happen, also when power or the process is lost."""

import contextlib
import errno
import fcntl
import os
import stat
import uuid
from collections.abc import Iterator
from pathlib import Path

from controlplane.artifacts.failures import ArtifactFailure
from controlplane.domain.failures.registry import artifacts

# RLIMIT_FSIZE reports EFBIG, a quota EDQUOT: to the user all three mean the same.
_DISK_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


def means_disk_full(error: OSError) -> bool:
    return error.errno in _DISK_FULL


@contextlib.contextmanager
def disk_full_named(folder: Path) -> Iterator[None]:
    """Raise ArtifactFailure in place of what the operating system says of a full disk."""
    try:
        yield
    except OSError as error:
        if means_disk_full(error):
            raise ArtifactFailure.of(artifacts.DISK_FULL, folder=os.fspath(folder)) from error
        raise


def write_atomically(path: Path, content: bytes) -> None:
    """Put `content` at `path` so that a reader, or a crash, sees all of it or none."""
    with _written_beside(path, content) as temporary:
        temporary.replace(path)
    sync_directory(path.parent)


def create_atomically(path: Path, content: bytes) -> bool:
    """Return whether `content` is now at `path`: not where something was there before."""
    with _written_beside(path, content) as temporary:
        try:
            os.link(temporary, path)
        except FileExistsError:
            return False
        except OSError:  # a file system without links
            if path.exists():
                return False
            temporary.replace(path)
    sync_directory(path.parent)
    return True


@contextlib.contextmanager
def _written_beside(path: Path, content: bytes) -> Iterator[Path]:
    """Give a file that holds `content` and is on the disk, gone afterwards unless renamed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        with temporary.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        yield temporary
    finally:
        temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def held_folder(folder: Path) -> Iterator[None]:
    """Make a folder that counts as abandoned as soon as this process ends without having left."""
    folder.mkdir()
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        yield
    finally:
        os.close(descriptor)


def is_held(folder: Path) -> bool:
    """Return whether someone works in a folder of `held_folder`."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:  # moved to its place just now
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def make_folder(folder: Path) -> None:
    """Make a folder and those above it, each as open to others as the one that it lies in.

    Web and build workers may run as different users; the operator's mode of the store's own folder
    says whether both may write to it.
    """
    if folder.is_dir():
        return
    make_folder(folder.parent)
    folder.mkdir(exist_ok=True)
    # Another user who was first has given it this mode already.
    with contextlib.suppress(PermissionError):
        folder.chmod(stat.S_IMODE(folder.parent.stat().st_mode))


def sync_file(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_directory(path: Path) -> None:
    """Flush the names in a folder to the disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
