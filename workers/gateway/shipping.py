"""Sends the journal to the control plane, and deletes a segment once it is committed whole."""

import asyncio
import json
from collections import deque
from dataclasses import dataclass
from pathlib import Path

from controlplane.clock import SYSTEM, Clock
from workers.gateway.control_plane import BatchRefused, ControlPlane, ControlPlaneAway, Credential
from workers.gateway.journal import KEY_SLICE, Segment

BATCH_BYTES = 1024 * 1024
_SHOWN_BYTES = 200


@dataclass(frozen=True, slots=True)
class Batch:
    body: bytes
    from_offset: int
    to_offset: int


class Shipper:
    """Ships ended segments oldest first, then the live one.

    The control plane is asked where it stands before a segment's first record is sent, and its
    answer is always believed, so a repeat after a lost answer starts at the right line. Each batch
    says when it was sent, by the clock of its records, for one that is not the control plane's.
    """

    def __init__(self, control_plane: ControlPlane, *, clock: Clock = SYSTEM) -> None:
        self._control_plane = control_plane
        self._clock = clock
        self._ended: deque[Segment] = deque()
        self._committed: dict[str, int] = {}

    def add(self, segment: Segment) -> None:
        self._ended.append(segment)

    async def ship(self, live: Segment | None, credential: Credential) -> None:
        """Send all that is written. Raises ControlPlaneAway or CredentialRefused."""
        while self._ended:
            segment = self._ended[0]
            await self._ship_segment(segment, credential)
            self._ended.popleft()
            self._committed.pop(segment.id, None)
            await asyncio.to_thread(segment.path.unlink, missing_ok=True)
        if live is not None:
            await self._ship_segment(live, credential)

    async def _ship_segment(self, segment: Segment, credential: Credential) -> None:
        offset = self._committed.get(segment.id)
        if offset is None:
            offset = await self._send(segment, Batch(_wrap(segment, 0, 0, []), 0, 0), credential)
        while (batch := next_batch(segment, offset)) is not None:
            try:
                committed = await self._send(segment, batch, credential)
            except BatchRefused:
                batch = await asyncio.to_thread(_only_readable, segment, offset)
                committed = await self._send(segment, batch, credential)
            if committed == offset:
                raise ControlPlaneAway(f"usage after offset {offset} was not committed")
            offset = committed

    async def _send(self, segment: Segment, batch: Batch, credential: Credential) -> int:
        # Forgotten until the answer is here: a lost one may have been committed, so we ask again.
        self._committed.pop(segment.id, None)
        body = b'{"sent_at":%.3f,%b' % (self._clock.time(), batch.body[1:])
        committed = await self._control_plane.send_usage(body, credential)
        self._committed[segment.id] = committed
        return committed


def next_batch(segment: Segment, offset: int) -> Batch | None:
    """Return the next whole lines after `offset`, newest state per request only.

    An older state of a request says nothing that its newer one does not.
    """
    chunk = _read(segment.path, offset)
    end = chunk.rfind(b"\n") + 1
    if end == 0:
        return None
    return _batch(segment, offset, chunk[:end])


def _batch(segment: Segment, offset: int, chunk: bytes, *, checks: bool = False) -> Batch:
    newest = {line[KEY_SLICE]: line for line in chunk[:-1].split(b"\n")}
    lines = [_readable(line) for line in newest.values()] if checks else list(newest.values())
    end = offset + len(chunk)
    return Batch(_wrap(segment, offset, end, lines), offset, end)


def _only_readable(segment: Segment, offset: int) -> Batch:
    """Return the next batch, in which lines that a full or failing disk harmed are mere text.

    One of them would keep the whole journal behind it; the control plane sets a text aside.
    """
    chunk = _read(segment.path, offset)
    return _batch(segment, offset, chunk[: chunk.rfind(b"\n") + 1], checks=True)


def _readable(line: bytes) -> bytes:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return json.dumps(line[:_SHOWN_BYTES].decode("latin-1")).encode()
    return line


def _read(path: Path, offset: int) -> bytes:
    try:
        with path.open("rb") as file:
            file.seek(offset)
            return file.read(BATCH_BYTES)
    except FileNotFoundError:
        return b""


def _wrap(segment: Segment, start: int, end: int, lines: list[bytes]) -> bytes:
    head = b'{"journal":"%b","from_offset":%d,"to_offset":%d,"records":['
    return head % (segment.id.encode(), start, end) + b",".join(lines) + b"]}"
