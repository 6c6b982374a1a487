"""What the demonstration prints: one line a stage, with the time it took."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from controlplane.clock import SYSTEM, Clock


class Console:
    """Prints stages and their progress; rewrites a line only on a terminal."""

    def __init__(self, out: TextIO = sys.stdout, *, clock: Clock = SYSTEM) -> None:
        self._out = out
        self._rewrites = out.isatty()
        self._shown = ""
        self._clock = clock

    @contextmanager
    def stage(self, title: str) -> Iterator[None]:
        started = self._clock.monotonic()
        self._write(f"{title} …\n")
        yield
        self.progress("")
        self._write(f"  done in {self._clock.monotonic() - started:.1f} s\n")

    def progress(self, text: str) -> None:
        """Show where the stage is; a repeated text is shown once."""
        if text == self._shown:
            return
        self._shown = text
        if self._rewrites:
            self._write(f"\r\x1b[2K{f'  {text}' if text else ''}")
        elif text:
            self._write(f"  {text}\n")

    def say(self, text: str = "") -> None:
        self._write(f"{text}\n")

    def piece(self, text: str) -> None:
        """Print a piece of a line at once, such as a streamed token."""
        self._write(text)

    def _write(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()
