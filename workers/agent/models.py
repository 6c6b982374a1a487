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

from controlplane.clock import SYSTEM, Clock
from workers.agent.folders import replica_folders

KEPT_SECONDS = 24 * 3600
_LOCK = ".lock"


def model_folder(models: Path, content_digest: str) -> Path:
    """Return where the copy of an artifact lies on this host."""
    return models / content_digest.rpartition(":")[2]


def mark_used(folder: Path) -> None:
    """Note that a replica is about to use this copy."""
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
    over it, the least recently used first. Copies that were never finished go after a day.
    """
    with _alone(models, waits=False) as alone:
        if not alone:
            return []  # who has the lock drops copies itself
        used = {model_folder(models, digest).name for digest in in_use}
        unused = [each for each in _copies(models) if each.name not in used]
        stale = [each for each in unused if _used_at(each) < clock.time() - KEPT_SECONDS]
        if most_bytes is None:
            return _dropped(stale)
        begun = [each for each in stale if each.name.startswith(".")]
        return _dropped(begun) + _dropped(_over(models, unused, most_bytes))


def make_room(models: Path, replicas: Path, wanted_bytes: int, most_bytes: int) -> list[str]:
    """Return the names of the unused copies that were dropped so that another one fits the bound.

    What is in use counts and stays: a copy that is needed is made all the same.
    """
    with _alone(models):
        used = {model_folder(models, digest).name for digest in _in_use(replicas)}
        unused = [each for each in _copies(models) if each.name not in used]
        return _dropped(_over(models, unused, most_bytes - wanted_bytes))


def wait_for_droppers(models: Path) -> None:
    """Return once nobody drops copies who may not have seen the replica that asks."""
    with _alone(models):
        return


def _in_use(replicas: Path) -> Iterator[str]:
    for folder in replica_folders(replicas):
        wanted = folder.read("wanted")
        if wanted is not None and folder.read("exit") is None:
            yield str(wanted.get("content_digest"))


def _over(models: Path, unused: Sequence[Path], most_bytes: int) -> list[Path]:
    """Return which unused copies have to go, the least recently used first."""
    whole = [each for each in unused if not each.name.startswith(".")]
    left = sum(map(_bytes_in, _copies(models)))
    chosen: list[Path] = []
    for folder in sorted(whole, key=_used_at):
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
    found = models.iterdir() if models.is_dir() else ()
    return [each for each in found if each.name != _LOCK]


def _used_at(folder: Path) -> float:
    try:
        return folder.stat().st_mtime
    except FileNotFoundError:  # a copy that has just been moved to its place
        return math.inf


def _bytes_in(folder: Path) -> int:
    found = 0
    for within, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):  # moved to its place just now
                found += (Path(within) / name).stat().st_size
    return found


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
