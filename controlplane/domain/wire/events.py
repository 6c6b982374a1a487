"""Server-sent events, as bytes in and out."""

import json
import re
from collections.abc import Iterator
from typing import Any

DONE = b"data: [DONE]\n\n"
_BLANK_LINE = re.compile(rb"\n\r?\n")


def encode_event(payload: Any, *, event: str | None = None, event_id: str | None = None) -> bytes:
    """Return one event; a payload that is not bytes or text is sent as compact JSON."""
    text = _as_text(payload)
    lines = []
    if event_id is not None:
        lines.append(f"id: {_one_line(event_id)}")
    if event is not None:
        lines.append(f"event: {_one_line(event)}")
    lines += [
        f"data: {line}" for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    ]
    return ("\n".join(lines) + "\n\n").encode()


def encode_comment(text: str = "") -> bytes:
    """Return a comment, which keeps a connection alive and is ignored by clients."""
    return f": {_one_line(text)}\n\n".encode()


class EventDecoder:
    """Yields the data of each event that is complete; chunks may break anywhere."""

    def __init__(self) -> None:
        self._chunks: list[bytes] = []
        """Of the event that has begun; put together once, since it may come in thousands."""
        self._end = b""

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Yield the data of every event that ends in this chunk, without the `data:` prefix."""
        for event in self._ended(chunk):
            lines = [_data(line) for line in event.split(b"\n") if line.startswith(b"data:")]
            if lines:
                yield b"\n".join(lines)

    def _ended(self, chunk: bytes) -> list[bytes]:
        seen = self._end + chunk
        self._chunks.append(chunk)
        events: list[bytes] = []
        if _BLANK_LINE.search(seen):
            *events, seen = b"".join(self._chunks).replace(b"\r\n", b"\n").split(b"\n\n")
            self._chunks = [seen]
        self._end = seen[-2:]
        return events


def _data(line: bytes) -> bytes:
    content = line[len(b"data:") :]
    return content[1:] if content.startswith(b" ") else content


def _as_text(payload: Any) -> str:
    if isinstance(payload, bytes):
        return payload.decode()
    if isinstance(payload, str):
        return payload
    return json.dumps(payload, ensure_ascii=False, separators=(",", ":"))


def _one_line(text: str) -> str:
    return text.replace("\r", " ").replace("\n", " ")
