"""Disks that are full: a small one that is really mounted, or a limit on what one file may hold."""

import resource
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

Grow = Callable[[], None]


@contextmanager
def small_disk(folder: Path, *, size: str) -> Iterator[Grow]:
    """Mount a disk of that size on the folder; the value makes it large enough for anything."""
    folder.mkdir(parents=True, exist_ok=True)
    mounted = _mount(folder, f"size={size}")
    if mounted.returncode:
        text = mounted.stderr.decode(errors="replace").strip()
        pytest.skip(f"only root with the right to mount has a small disk: {text}")

    def grow() -> None:
        _mount(folder, "remount,size=256m").check_returncode()

    try:
        yield grow
    finally:
        # Lazily: a server of another test may have looked into it just now.
        subprocess.run(["umount", "--lazy", folder], check=True)


@contextmanager
def small_files(size_bytes: int) -> Iterator[Grow]:
    """Let this process and its children write no larger file; the value lifts the limit."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, before[1]))

    def grow() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)

    try:
        yield grow
    finally:
        grow()


def _mount(folder: Path, options: str) -> "subprocess.CompletedProcess[bytes]":
    argv = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder]
    return subprocess.run(argv, capture_output=True, check=False)
