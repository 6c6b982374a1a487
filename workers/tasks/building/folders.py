"""Where a build's steps work: `DATA_DIR/builds/<build>/<step>`, published by rename.

A build that succeeded leaves nothing here: its artifact has the files. One that failed or was
cancelled keeps its published steps for a retry, for a few days.
"""

import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from django.conf import settings

from apps.leases.lease import Lease
from controlplane.clock import SYSTEM

_KEEP_SECONDS = 3 * 24 * 3600.0
_JOB = ".job.json"


def builds_folder() -> Path:
    folder: Path = settings.DATA_DIR / "builds"
    return folder


class BuildFolder:
    """The folder of one build, as the holder of one lease uses it."""

    def __init__(self, lease: Lease) -> None:
        self._root = builds_folder() / lease.id
        self._token = lease.token

    def published(self, step: str) -> Path:
        return self._root / step

    def draft(self, step: str) -> Path:
        return self._root / f".{step}.{self._token}"

    def job(self, step: str) -> Path:
        """Return where the step's job is written, which a late holder's must not replace."""
        return self._root / f"{step}.{self._token}{_JOB}"

    def prepare(self) -> None:
        """Make the folder, and remove what earlier holders left half done."""
        self._root.mkdir(parents=True, exist_ok=True)
        for leftover in self._root.glob(".*"):
            if not self._is_of_a_later_holder(leftover.name):
                shutil.rmtree(leftover, ignore_errors=True)
        for job in self._root.glob(f"*{_JOB}"):
            if not self._is_of_a_later_holder(job.name.removesuffix(_JOB)):
                job.unlink(missing_ok=True)

    def clear_drafts(self) -> None:
        for leftover in self._root.glob(f".*.{self._token}"):
            shutil.rmtree(leftover, ignore_errors=True)

    def forget(self, steps: Sequence[str]) -> None:
        """Remove what these steps published, the last of them first.

        Whoever is stopped halfway finds the first of them, by which it began, and begins again.
        """
        for step in reversed(steps):
            if self.published(step).exists():
                shutil.rmtree(self.published(step))

    def remove(self) -> None:
        shutil.rmtree(self._root, ignore_errors=True)

    def _is_of_a_later_holder(self, name: str) -> bool:
        number = name.rpartition(".")[2]
        return number.isdecimal() and int(number) > self._token


def prune_folders(is_wanted: Callable[[str, float], bool]) -> int:
    """Return how many folders are gone: those of which `is_wanted(build id, age)` says no."""
    removed = 0
    root = builds_folder()
    for folder in root.iterdir() if root.is_dir() else ():
        # Another worker may remove it just now.
        with suppress(FileNotFoundError):
            if not is_wanted(folder.name, SYSTEM.time() - folder.stat().st_mtime):
                shutil.rmtree(folder, ignore_errors=True)
                removed += 1
    return removed


def is_kept(state: str | None, age_seconds: float) -> bool:
    """Return whether the folder of a build in this state is of use; None: there is no such build.

    Another installation may have used the folder, so an unknown one is kept as long as a failed.
    """
    if state == "succeeded":
        return False
    return state not in {None, "failed", "cancelled"} or age_seconds < _KEEP_SECONDS
