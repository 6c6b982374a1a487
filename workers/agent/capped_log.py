"""A log file that never grows past twice its cap: the older half is set aside, then dropped."""

import os
from pathlib import Path

CAP_BYTES = 8_000_000


class CappedLog:
    """Appends bytes to `path`; what was before the last turn lies beside it as `.1`."""

    def __init__(self, path: Path, cap_bytes: int = CAP_BYTES) -> None:
        self._path = path
        self._cap_bytes = cap_bytes
        self._descriptor = self._open()

    def write(self, data: bytes) -> None:
        """Append `data`; a full disk loses it, and never stops the engine that wrote it."""
        try:
            os.write(self._descriptor, data)
            if os.fstat(self._descriptor).st_size >= self._cap_bytes:
                self._turn()
        except OSError:
            return

    def _turn(self) -> None:
        self._path.replace(aside(self._path))
        fresh = self._open()
        os.close(self._descriptor)
        self._descriptor = fresh

    def _open(self) -> int:
        return os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)


def aside(path: Path) -> Path:
    """Return where the older half of a log lies."""
    return path.with_name(f"{path.name}.1")


def tail(path: Path, size_bytes: int) -> str:
    try:
        with path.open("rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - size_bytes))
            return file.read().decode(errors="replace")
    except OSError:
        return ""
