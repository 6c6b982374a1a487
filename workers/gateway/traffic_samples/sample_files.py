"""Outlines on the gateway's own disk: of each consent and model in a folder, bounded and aged."""

import secrets
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import NamedTuple

from controlplane.clock import SYSTEM, Clock
from workers.full_disk import free_bytes
from workers.gateway.consents import Consent

SUFFIX = ".outline"
MOST_SAMPLES = 2_000
"""Of a model; the oldest go. As many as a tuning reads of a set."""
MOST_BYTES = 16 * 1024 * 1024
"""Of a model."""
LEAST_FREE_BYTES = 256 * 1024 * 1024
"""What is left to the usage journal, which is worth more."""
_NANOSECONDS = 1_000_000_000


class Held(NamedTuple):
    """What lies there of one model under one consent."""

    consent_id: str
    model_id: str
    samples: int
    size_bytes: int
    oldest_at: float


class SampleFiles:
    """Every call may block on the disk; any number of threads may call."""

    def __init__(
        self,
        directory: Path,
        *,
        clock: Clock = SYSTEM,
        free: Callable[[Path], int | None] = free_bytes,
    ) -> None:
        self._directory, self._clock, self._free = directory, clock, free
        self._lock = Lock()
        self._consents: frozenset[str] = frozenset()

    def keep(self, consent: Consent, model_id: str, content: bytes) -> bool:
        """Return whether the content is kept: not where its consent has ended, nor on a full disk.

        Raises OSError.
        """
        with self._lock:
            if consent.id not in self._consents or not self._has_room():
                return False
            folder = self.folder(consent.id, model_id)
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._write(folder, content)
            return True

    def sweep(self, consents: Mapping[str, Consent]) -> list[Held]:
        """Delete what no consent stands for any more, and what is too old; return what is left."""
        with self._lock:
            self._consents = frozenset(consents)
            for folder in _folders_in(self._directory):
                if folder.name not in consents:
                    shutil.rmtree(folder, ignore_errors=True)
            return [
                samples
                for folder in _folders_in(self._directory)
                for model in _folders_in(folder)
                if (samples := self._aged(model, consents[folder.name])) is not None
            ]

    def folder(self, consent_id: str, model_id: str) -> Path:
        return self._directory / consent_id / model_id

    def _has_room(self) -> bool:
        free = self._free(self._directory.parent)
        return free is None or free >= LEAST_FREE_BYTES

    def _write(self, folder: Path, content: bytes) -> None:
        name = f"{int(self._clock.time() * _NANOSECONDS):020d}-{secrets.token_hex(4)}"
        new = folder / f".{name}.new"
        try:
            new.write_bytes(content)
            new.replace(folder / f"{name}{SUFFIX}")
        finally:
            new.unlink(missing_ok=True)

    def _aged(self, folder: Path, consent: Consent) -> Held | None:
        for half in folder.glob(".*.new"):  # of a process that was killed
            half.unlink(missing_ok=True)
        left = self._thin_out(folder, oldest_at=self._clock.time() - consent.kept_seconds)
        if not left:
            with suppress(OSError):
                folder.rmdir()
            return None
        size_bytes = sum(_size(each) for each in left)
        return Held(consent.id, folder.name, len(left), size_bytes, _written_at(left[0]))

    def _thin_out(self, folder: Path, *, oldest_at: float) -> list[Path]:
        """Delete the oldest, up to what may be kept; return what is left, the oldest first."""
        newest, size_bytes, left = sorted(folder.glob(f"*{SUFFIX}"), reverse=True), 0, 0
        for each in newest:
            size_bytes += _size(each)
            if _written_at(each) < oldest_at or left == MOST_SAMPLES or size_bytes > MOST_BYTES:
                break
            left += 1
        for each in newest[left:]:
            each.unlink(missing_ok=True)
        return newest[:left][::-1]


def _folders_in(directory: Path) -> list[Path]:
    if not directory.is_dir():
        return []
    return sorted(each for each in directory.iterdir() if each.is_dir())


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except FileNotFoundError:
        return 0


def _written_at(file: Path) -> float:
    stamp, _, _ = file.name.partition("-")
    return int(stamp) / _NANOSECONDS if stamp.isdecimal() else 0.0
