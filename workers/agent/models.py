"""Copies of artifacts on this host, by content: made before a start, dropped when others need room.

What a replica of this host is, or is about to be, made of is never dropped. A replica's folder is
there before anything is copied for it, and who drops copies holds the lock while it looks at the
folders: so who has held the lock after its own folder was there finds its copy whole, or none.
"""

import fcntl
import math
import os
import shutil
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from controlplane.artifacts.durable import is_held
from controlplane.clock import SYSTEM, Clock
from workers.agent.folders import replica_folders

KEPT_SECONDS = 24 * 3600
_LOCK, _COPYING = ".lock", ".copying"
_PLACE_DIGITS = 15  # what an offset in a file can hold


def model_folder(models: Path, content_digest: str) -> Path:
    return models / content_digest.rpartition(":")[2]


def mark_used(folder: Path) -> None:
    os.utime(folder)


def prune_models(
    models: Path,
    in_use: Collection[str],
    *,
    most_bytes: int | None = None,
    clock: Clock = SYSTEM,
) -> list[str]:
    """Return the names of the copies that were dropped.

    Without a bound, those that were unused for a day; with one, as many of the unused ones as are
    over it, the least recently used first. Copies that nobody will finish go at once.
    """
    with _alone(models, waits=False) as alone:
        if not alone:
            return []  # who has the lock drops copies itself
        _dropped(_abandoned(models))
        unused = _unused(models, in_use)
        if most_bytes is not None:
            return _dropped(_over(models, unused, most_bytes))
        horizon = clock.time() - KEPT_SECONDS
        return _dropped([each for each in unused if _used_at(each) < horizon])


def make_room(models: Path, replicas: Path, wanted_bytes: int, most_bytes: int) -> list[str]:
    """Return the names of the unused copies that were dropped so that another one fits the bound.

    What is in use counts and stays: a copy that is needed is made all the same.
    """
    with _alone(models):
        _dropped(_abandoned(models))
        unused = _unused(models, list(_in_use(replicas)))
        return _dropped(_over(models, unused, most_bytes - wanted_bytes))


def wait_for_droppers(models: Path) -> None:
    """Return once nobody drops copies who may not have seen the replica that asks."""
    with _alone(models):
        return


@contextmanager
def copying(models: Path, content_digest: str) -> Iterator[None]:
    """Hold what only one process of this host does at a time: to copy this artifact here."""
    descriptor = os.open(models / _COPYING, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    # One byte of one file for each artifact: no file is left behind for it.
    place = int(content_digest.rpartition(":")[2][:_PLACE_DIGITS], 16)
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX, 1, place)
        yield
    finally:
        os.close(descriptor)


def _in_use(replicas: Path) -> Iterator[str]:
    for folder in replica_folders(replicas):
        desired = folder.read("wanted")
        if desired is not None and folder.read("exit") is None:
            yield str(desired.get("content_digest"))


def _unused(models: Path, in_use: Collection[str]) -> list[Path]:
    used = {model_folder(models, digest).name for digest in in_use}
    whole = (each for each in _copies(models) if not each.name.startswith("."))
    return [each for each in whole if each.name not in used]


def _abandoned(models: Path) -> list[Path]:
    begun = (each for each in _copies(models) if each.name.startswith("."))
    return [each for each in begun if not is_held(each)]


def _over(models: Path, unused: Sequence[Path], most_bytes: int) -> list[Path]:
    left = sum(map(_bytes_in, _copies(models)))
    chosen: list[Path] = []
    for folder in sorted(unused, key=_used_at):
        if left <= most_bytes:
            break
        left -= _bytes_in(folder)
        chosen.append(folder)
    return chosen


def _dropped(folders: Sequence[Path]) -> list[str]:
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)
    return [folder.name for folder in folders]


def _copies(models: Path) -> list[Path]:
    return [each for each in models.iterdir() if each.is_dir()]


def _used_at(folder: Path) -> float:
    try:
        return folder.stat().st_mtime
    except FileNotFoundError:  # a copy that has just been moved to its place
        return math.inf


def _bytes_in(folder: Path) -> int:
    total_bytes = 0
    for within, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):  # moved to its place just now
                total_bytes += (Path(within) / name).stat().st_size
    return total_bytes


@contextmanager
def _alone(models: Path, *, waits: bool = True) -> Iterator[bool]:
    models.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor = os.open(models / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        yield _locked(descriptor, fcntl.LOCK_EX if waits else fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        os.close(descriptor)


def _locked(descriptor: int, how: int) -> bool:
    try:
        fcntl.flock(descriptor, how)
    except BlockingIOError:
        return False
    return True
