"""One file of a checkpoint: goes on where it stopped, verified before it gets its name."""

import fcntl
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol

from controlplane.sources.looking import Looks
from controlplane.sources.options import SourceOptions
from controlplane.sources.resolved import SourceFile
from controlplane.sources.verification import Checked, check


class Stopped(Exception):
    """Another file of the same checkpoint failed, so this one need not go on."""


class Remote(Protocol):
    """A pinned checkpoint elsewhere, asked one try at a time."""

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        """What a try may raise, beside the failures of our own."""

    def stream(
        self, file: SourceFile, start: int
    ) -> AbstractContextManager[tuple[Iterator[bytes], int]]:
        """Give the bytes of a file and the offset they begin at (0 where ranges are off)."""

    def is_passing(self, error: Exception) -> bool:
        """Return whether another try may go better."""

    def explained(self, error: Exception) -> Exception:
        """Return the failure that an error means."""

    def given_up(self, error: Exception, path: str) -> Exception:
        """Return the failure for a file whose tries all ended in such an error."""

    def corrupt(self, path: str, expected: str, actual: str) -> Exception:
        """Return the failure for a file that arrived, twice, as something else."""

    def wait_seconds(self, attempt: int, error: Exception) -> float:
        """Return the pause before the next try."""


class Download:
    def __init__(
        self,
        remote: Remote,
        *,
        file: SourceFile,
        target: Path,
        options: SourceOptions,
        on_bytes: Callable[[int], None],
        look: Looks,
        stop: threading.Event,
    ) -> None:
        self._remote = remote
        self._file = file
        self._target = target
        self._partial = target.with_name(f"{target.name}.partial")
        self._options = options
        self._on_bytes = on_bytes
        self._look = look
        self._stop = stop

    def run(self) -> str:
        """Return the sha256 of the verified file, now at `target`.

        Bytes that were reported and turn out wrong are taken back.
        """
        self._target.parent.mkdir(parents=True, exist_ok=True)
        with alone(self._target):
            if self._target.exists():
                kept = check(self._target, self._file, self._look)
                if kept.mismatch is None:
                    self._on_bytes(self._file.size_bytes)
                    return kept.sha256
            fault = self._attempt()
            if fault.mismatch is not None:
                fault = self._attempt()  # once more from the start: the first part may be stale
            if fault.mismatch is not None:
                raise self._remote.corrupt(self._file.path, *fault.mismatch)
            return fault.sha256

    def _attempt(self) -> Checked:
        self._complete_partial()
        fault = check(self._partial, self._file, self._look)
        if fault.mismatch is None:
            self._partial.replace(self._target)
        else:
            self._on_bytes(-self._partial.stat().st_size)
            self._partial.unlink()
        return fault

    def _complete_partial(self) -> None:
        self._partial.touch()
        self._on_bytes(self._partial.stat().st_size)
        fruitless = 0
        while (had := self._partial.stat().st_size) < self._file.size_bytes:
            try:
                self._receive(had)
            except self._remote.errors as error:
                fruitless = 0 if self._partial.stat().st_size > had else fruitless + 1
                if not self._remote.is_passing(error):
                    raise self._remote.explained(error) from error
                if fruitless >= self._options.attempts:
                    raise self._remote.given_up(error, self._file.path) from error
                self._options.clock.sleep(self._remote.wait_seconds(max(fruitless, 1), error))

    def _receive(self, had: int) -> None:
        with (
            self._remote.stream(self._file, had) as (chunks, first),
            self._partial.open("r+b") as file,
        ):
            self._on_bytes(first - had)  # a server without ranges starts again
            file.truncate(first)
            file.seek(first)
            for chunk in chunks:
                if self._stop.is_set():
                    raise Stopped
                file.write(chunk)
                self._on_bytes(len(chunk))
                if file.tell() > self._file.size_bytes:
                    return  # more than was listed: it is another file, whatever is still to come


@contextmanager
def alone(target: Path) -> Iterator[None]:
    """Hold the target against other builds that fetch it; let go when the process ends."""
    with target.with_name(f"{target.name}.lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
