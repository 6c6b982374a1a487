"""Server-sent events on their way to the client: whole events pass, forced usage stays."""

import json
import re

from workers.gateway.usage import TokenCounts
from workers.gateway.usage_search import EVENT, find_usage

LONGEST_EVENT_BYTES = 8 * 1024 * 1024
_LONGEST_BOUNDARY_BYTES = 4
_ENDS = (b"\n\n", b"\r\n\r\n")
_BOUNDARY = re.compile(rb"\r?\n\r?\n")
_NO_CHOICES = re.compile(rb'"choices"\s*:\s*\[\s*\]')


class EndlessEvent(Exception):
    """An event that grows without end: its engine has lost its way."""


class EventFilter:
    """Feed it bytes as they come; it returns the bytes to forward.

    Nearly every read holds whole events without usage and passes untouched; only a read that
    mentions usage, or that ends inside an event, is cut into events.
    """

    __slots__ = ("_hides_usage", "_pending", "counts", "done")

    def __init__(self, *, hides_usage: bool) -> None:
        self._hides_usage = hides_usage
        self._pending = bytearray()
        self.counts: TokenCounts | None = None
        self.done = False

    def feed(self, data: bytes) -> bytes:
        """Return what may go on. Raises EndlessEvent."""
        # By `find`: `in` first takes bytes for a number, and the error that it makes of it and
        # throws away costs more than the search.
        if data.endswith(_ENDS) and not self._pending and data.find(b'"usage"') < 0:
            if data.find(b"[DONE]") >= 0:
                self.done = self.done or _says_done(data)
            return data
        return self._feed_events(data)

    def finish(self) -> bytes:
        """Return what is left when the engine closed inside an event."""
        rest = bytes(self._pending)
        self._pending.clear()
        return rest

    def _feed_events(self, data: bytes) -> bytes:
        pending, out, start = self._pending, [], 0
        # What was searched before holds no boundary, but may hold the beginning of one.
        searched = max(0, len(pending) - _LONGEST_BOUNDARY_BYTES + 1)
        pending += data
        for boundary in _BOUNDARY.finditer(pending, searched):
            out.append(self._event(bytes(pending[start : boundary.end()])))
            start = boundary.end()
        del pending[:start]
        if len(pending) > LONGEST_EVENT_BYTES:
            pending.clear()
            raise EndlessEvent
        return b"".join(out)

    def _event(self, event: bytes) -> bytes:
        if b"[DONE]" in event:
            self.done = self.done or _says_done(event)
        if b'"usage"' not in event:
            return event
        counts = find_usage(event, EVENT)
        if counts is None:
            return event
        self.counts = counts
        if not self._hides_usage:
            return event
        return b"" if _NO_CHOICES.search(event) else _without_usage(event)


def _says_done(events: bytes) -> bool:
    return events.startswith(b"data: [DONE]") or b"\ndata: [DONE]" in events


def _without_usage(event: bytes) -> bytes:
    prefix, _, text = event.partition(b"data:")
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return event
    if not isinstance(data, dict) or "usage" not in data:
        return event
    del data["usage"]
    return b"%bdata: %b\n\n" % (prefix, json.dumps(data, separators=(",", ":")).encode())
