"""Engine logs on their way to the control plane, in pieces that end with a line."""

import os
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from workers.agent.capped_log import aside
from workers.agent.control_plane import ControlPlane
from workers.agent.folders import ReplicaFolder

PIECE_BYTES = 64 * 1024


@dataclass(frozen=True, kw_only=True)
class _Place:
    """Where the next piece begins: in which file, at which byte, with which number."""

    inode: int = 0
    offset: int = 0
    sequence: int = 0
    pending_bytes: int = 0
    """How long a piece is that was sent and perhaps arrived: again, it must be the same."""


def ship_log(folder: ReplicaFolder, control_plane: ControlPlane, *, is_over: bool) -> bool:
    """Return whether a piece was handed in; the place is kept, so that none goes twice or lost.

    Raises ControlPlaneAway.
    """
    place = _read_place(folder)
    file = _file_at(folder.log, place)
    if file is None:
        return False
    path, place = file
    piece = _piece(path, place, is_over=is_over or path != folder.log)
    if not piece:
        return False
    _store(folder, replace(place, pending_bytes=len(piece)))
    control_plane.ship_log(
        replica_id=folder.replica_id,
        attempt=folder.generation,
        sequence=place.sequence,
        text=piece.decode(errors="replace"),
    )
    _store(
        folder,
        replace(
            place,
            offset=place.offset + len(piece),
            sequence=place.sequence + 1,
            pending_bytes=0,
        ),
    )
    return True


def _store(folder: ReplicaFolder, place: _Place) -> None:
    folder.keep("shipped", asdict(place))


def _read_place(folder: ReplicaFolder) -> _Place:
    stored = folder.read("shipped")
    return _Place(**stored) if stored else _Place()


def _file_at(log: Path, place: _Place) -> tuple[Path, _Place] | None:
    """Return the file to read on in; after a turn, first what is left of the older half."""
    inode, older = _inode(log), aside(log)
    has_turned = place.inode not in (0, inode)
    if has_turned and _inode(older) == place.inode and _size(older) > place.offset:
        return older, place
    if inode is None:
        return None
    if inode != place.inode:
        place = _Place(inode=inode, offset=0, sequence=place.sequence)
    return log, place


def _piece(path: Path, place: _Place, *, is_over: bool) -> bytes:
    try:
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_ino != place.inode:
                return b""  # it has turned since: to be looked for again
            file.seek(place.offset)
            data = file.read(place.pending_bytes or PIECE_BYTES)
    except OSError:
        return b""
    if place.pending_bytes or is_over:
        return data
    whole_lines = data[: data.rfind(b"\n") + 1]
    # A line longer than a piece goes in parts.
    return whole_lines or (data if len(data) == PIECE_BYTES else b"")


def _inode(path: Path) -> int | None:
    try:
        return path.stat().st_ino
    except OSError:
        return None


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
