"""Server-sent events on their way to the client: whole events pass, forced usage stays."""

import json
import re

from workers.gateway.usage import TokenCounts, find_usage

LONGEST_EVENT_BYTES = 8 * 1024 * 1024
_BOUNDARY = re.compile(rb"\r?\n\r?\n")
_NO_CHOICES = re.compile(rb'"choices"\s*:\s*\[\s*\]')


class EventFilter:
    """Feed it bytes as they come; it returns the bytes to forward.

    Nearly every read holds whole events without usage and passes untouched; only a read that
    mentions usage, or that ends inside an event, is cut into events.
    """

    __slots__ = ("_hides_usage", "_pending", "counts", "done")

    def __init__(self, *, hides_usage: bool) -> None:
        self._hides_usage = hides_usage
        self._pending = b""
        self.counts: TokenCounts | None = None
        self.done = False

    def feed(self, data: bytes) -> bytes:
        whole = data.endswith(b"\n\n") or data.endswith(b"\r\n\r\n")
        if whole and not self._pending and b'"usage"' not in data:
            if b"[DONE]" in data:
                self.done = self.done or _says_done(data)
            return data
        return self._feed_events(self._pending + data)

    def finish(self) -> bytes:
        """Return what is left when the engine closed inside an event."""
        rest, self._pending = self._pending, b""
        return rest

    def _feed_events(self, data: bytes) -> bytes:
        out, start = [], 0
        for boundary in _BOUNDARY.finditer(data):
            out.append(self._event(data[start : boundary.end()]))
            start = boundary.end()
        self._pending = data[start:]
        if len(self._pending) > LONGEST_EVENT_BYTES:
            out.append(self.finish())
        return b"".join(out)

    def _event(self, event: bytes) -> bytes:
        if b"[DONE]" in event:
            self.done = self.done or _says_done(event)
        if b'"usage"' not in event:
            return event
        counts = find_usage(event)
        if counts is None:
            return event
        self.counts = counts
        if not self._hides_usage:
            return event
        return b"" if _NO_CHOICES.search(event) else _without_usage(event)


def _says_done(events: bytes) -> bool:
    return events.startswith(b"data: [DONE]") or b"\ndata: [DONE]" in events


def _without_usage(event: bytes) -> bytes:
    """Return an event that carries text and usage with the usage taken out."""
    prefix, _, text = event.partition(b"data:")
    try:
        data = json.loads(text)
    except ValueError:
        return event
    if not isinstance(data, dict) or "usage" not in data:
        return event
    del data["usage"]
    return b"%bdata: %b\n\n" % (prefix, json.dumps(data, separators=(",", ":")).encode())
