"""Takes a child's output off its pipe at once, however slow the one who stores it."""

import os
import threading
from collections import deque

from controlplane.domain.log_lines import LogLines
from controlplane.domain.redaction import Redactor

_BUFFER_BYTES = 4 * 1024 * 1024
_TAIL_CHARACTERS = 16_384
_READ_BYTES = 65_536


class LogPump:
    """Reads in a thread; what is taken out is redacted and ends with a line."""

    def __init__(self, descriptor: int, redactor: Redactor) -> None:
        self._descriptor = descriptor
        self._lines = LogLines(redactor)
        self._waiting: deque[bytes] = deque()
        self._waiting_bytes = 0
        self._dropped_bytes = 0
        self._lock = threading.Lock()
        self._tail = ""
        self._thread = threading.Thread(target=self._read, name="log pump", daemon=True)
        self._thread.start()

    def take(self) -> bytes:
        """Return the complete lines that have arrived since the last call."""
        with self._lock:
            data, dropped = b"".join(self._waiting), self._dropped_bytes
            self._waiting.clear()
            self._waiting_bytes = self._dropped_bytes = 0
        note = f"[{dropped} bytes of output were dropped here]\n" if dropped else ""
        return self._remember(note + self._lines.feed(data))

    def finish(self) -> bytes:
        """Return what is left once nobody can write any more."""
        self._thread.join(timeout=5)
        rest = self.take()
        return rest + self._remember(self._lines.rest())

    @property
    def tail(self) -> str:
        return self._tail

    def _remember(self, text: str) -> bytes:
        self._tail = (self._tail + text)[-_TAIL_CHARACTERS:]
        return text.encode()

    def _read(self) -> None:
        while chunk := os.read(self._descriptor, _READ_BYTES):
            with self._lock:
                self._waiting.append(chunk)
                self._waiting_bytes += len(chunk)
                while self._waiting_bytes > _BUFFER_BYTES:
                    oldest = self._waiting.popleft()
                    self._waiting_bytes -= len(oldest)
                    self._dropped_bytes += len(oldest)
