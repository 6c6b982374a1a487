"""The usage journal: an append-only local file that outlives the process.

Every record is one JSON line that begins with its request id, so lines can be compared without
being parsed. Records appended in one turn of the loop reach the kernel in one write at its end;
from then on a kill -9 loses nothing. `sync()` (once a second, off the loop) brings them to the
disk, so a power cut loses at most that second.

A journal is a chain of segments, each a file named by its own UUID. A request that is open when
a segment ends is written again at the start of the next one, so any segment can be shipped and
deleted without looking at another.
"""

import json
import os
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from controlplane.clock import SYSTEM, Clock

SUFFIX = ".jsonl"
ID_BYTES = 32
MOST_KEPT_BYTES = 64 * 1024 * 1024
KEY_SLICE = slice(0, len(b'{"request_id":"') + ID_BYTES)


@dataclass(frozen=True, slots=True)
class Segment:
    id: str
    path: Path


class Journal:
    def __init__(self, directory: Path, *, clock: Clock = SYSTEM) -> None:
        self._clock = clock
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._directory = directory
        self._lines: list[bytes] = []
        self.segment, self._file = self._new_segment()
        self.size_bytes = 0

    def append(self, line: bytes) -> bool:
        """Take one record; return whether a flush has to be scheduled for it."""
        self._lines.append(line)
        return len(self._lines) == 1

    def flush(self) -> None:
        """Hand every taken record to the kernel.

        Raises OSError and keeps the records, up to a bound, for the next attempt.
        """
        if not self._lines:
            return
        lines, self._lines = b"".join(self._lines), []
        try:
            _write_all(self._file, lines)
        except OSError:
            os.ftruncate(self._file, self.size_bytes)  # no half line may stay
            self._lines = [lines] if len(lines) < MOST_KEPT_BYTES else []
            raise
        self.size_bytes += len(lines)

    def sync(self) -> None:
        os.fdatasync(self._file)

    def rotate(self, open_lines: Iterable[bytes]) -> Segment:
        """Start a new segment with the records of what is running; return the ended one."""
        self.flush()
        ended, ended_file = self.segment, self._file
        self.segment, self._file = self._new_segment()
        self.size_bytes = 0
        self._lines.extend(open_lines)
        self.flush()
        os.fdatasync(ended_file)
        os.close(ended_file)
        return ended

    def close(self) -> Segment:
        self.flush()
        os.fdatasync(self._file)
        os.close(self._file)
        return self.segment

    def _new_segment(self) -> tuple[Segment, int]:
        id = str(uuid.uuid4())
        path = self._directory / f"{self._stamp()}-{id}{SUFFIX}"
        return Segment(id, path), os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)

    def _stamp(self) -> int:
        """Return the time, or what follows the newest segment where the clock was set back.

        A request that ends in a segment must never be read before the one in which it began.
        """
        newest = max((_stamp_of(each) for each in _files_in(self._directory)), default=0)
        return max(int(self._clock.time() * 1e9), newest + 1)


def close_interrupted(directory: Path) -> list[Segment]:
    """Close what a dead process left open; return its segments, oldest first.

    A last line that was cut off is removed: it was never whole, so it was never shipped.
    """
    segments = segments_in(directory)
    unfinished: dict[bytes, bytes] = {}
    for segment in segments:
        _cut_partial_line(segment.path)
        with segment.path.open("rb") as lines:
            for line in lines:
                if b'"state":"closed"' in line:
                    unfinished.pop(line[KEY_SLICE], None)
                else:
                    unfinished[line[KEY_SLICE]] = line
    if unfinished:
        _append(segments[-1].path, [_interrupted(line) for line in unfinished.values()])
    return segments


def segments_in(directory: Path) -> list[Segment]:
    """Return the segments on disk that hold records, oldest first; empty ones are removed."""
    for empty in [path for path in _files_in(directory) if not path.stat().st_size]:
        empty.unlink()
    paths = sorted(_files_in(directory), key=_stamp_of)
    return [Segment(path.name.removesuffix(SUFFIX).split("-", 1)[1], path) for path in paths]


def _files_in(directory: Path) -> list[Path]:
    return [*directory.glob(f"*{SUFFIX}")]


def _stamp_of(path: Path) -> int:
    return int(path.name.split("-")[0])


def _interrupted(line: bytes) -> bytes:
    try:
        record = json.loads(line) | {"state": "closed", "status": None}
    except (ValueError, TypeError, RecursionError):
        return b""  # harmed on its disk: it is told as it is
    return json.dumps(record, separators=(",", ":")).encode() + b"\n"


def _cut_partial_line(path: Path) -> None:
    with path.open("rb+") as file:
        content = file.read()
        whole = content.rfind(b"\n") + 1
        if whole != len(content):
            file.truncate(whole)


def _append(path: Path, lines: list[bytes]) -> None:
    with path.open("ab") as file:
        file.write(b"".join(lines))
        file.flush()
        os.fdatasync(file.fileno())


def _write_all(file: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]
