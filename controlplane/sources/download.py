"""One file from a hub: goes on where it stopped, verified before it gets its name."""

import fcntl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2

from controlplane.sources.hub import HUB_ERRORS, Hub, is_passing
from controlplane.sources.hub_failures import broken_off, corrupt
from controlplane.sources.options import SourceOptions
from controlplane.sources.resolved import SourceFile
from controlplane.sources.verification import mismatch


class Stopped(Exception):
    """Another file of the same checkpoint failed, so this one need not go on."""


class Download:
    """The download of one file of a pinned commit to `target`."""

    def __init__(
        self,
        hub: Hub,
        *,
        commit: str,
        file: SourceFile,
        target: Path,
        options: SourceOptions,
        on_bytes: Callable[[int], None],
        stop: threading.Event,
    ) -> None:
        self._hub = hub
        self._commit = commit
        self._file = file
        self._target = target
        self._partial = target.with_name(f"{target.name}.partial")
        self._options = options
        self._on_bytes = on_bytes
        self._stop = stop

    def run(self) -> None:
        """Put the verified file at `target`; bytes reported wrongly are taken back."""
        self._target.parent.mkdir(parents=True, exist_ok=True)
        with _alone(self._target):
            if self._target.exists() and mismatch(self._target, self._file) is None:
                self._on_bytes(self._file.size_bytes)
                return
            wrong = self._attempt()
            if wrong is not None:
                wrong = self._attempt()  # once more from the start: the first part may be stale
            if wrong is not None:
                raise corrupt(self._hub.asked, self._file.path, *wrong)

    def _attempt(self) -> tuple[str, str] | None:
        self._complete_partial()
        wrong = mismatch(self._partial, self._file)
        if wrong is None:
            self._partial.replace(self._target)
        else:
            self._on_bytes(-self._partial.stat().st_size)
            self._partial.unlink()
        return wrong

    def _complete_partial(self) -> None:
        self._partial.touch()
        self._on_bytes(self._partial.stat().st_size)
        fruitless = 0
        while (had := self._partial.stat().st_size) < self._file.size_bytes:
            try:
                self._receive(had)
            except HUB_ERRORS as error:
                fruitless = 0 if self._partial.stat().st_size > had else fruitless + 1
                if not is_passing(error):
                    raise self._hub.explained(error) from error
                if fruitless >= self._options.attempts:
                    raise self._given_up(error) from error
                time.sleep(self._hub.wait_seconds(max(fruitless, 1), error))

    def _receive(self, had: int) -> None:
        with (
            self._hub.stream(self._commit, self._file.path, start=had) as (response, first),
            self._partial.open("r+b") as file,
        ):
            self._on_bytes(first - had)  # a server without ranges starts again
            file.truncate(first)
            file.seek(first)
            # Without a chunk size: a broken answer would take its unfinished chunk with it.
            for chunk in response.iter_bytes():
                if self._stop.is_set():
                    raise Stopped
                file.write(chunk)
                self._on_bytes(len(chunk))

    def _given_up(self, error: Exception) -> Exception:
        if isinstance(error, httpx2.RemoteProtocolError | httpx2.ReadError):
            return broken_off(self._hub.asked, self._file.path)
        return self._hub.explained(error)


@contextmanager
def _alone(target: Path) -> Iterator[None]:
    """Hold the target against other builds of the same commit; let go when the process ends."""
    with target.with_name(f"{target.name}.lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
