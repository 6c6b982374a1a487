"""Whether a store can be used now, asked by who must not wait for it."""

import threading
from collections.abc import Callable

from controlplane.artifacts.failures import ArtifactFailure, silent
from controlplane.clock import SYSTEM, Clock
from controlplane.domain.failures import Failure

LONGEST_SECONDS = 30.0


class Probe:
    """Asks in a thread of its own: a folder that is mounted from elsewhere may never answer.

    While one question is open no other is put, so at most one thread is lost to it.
    """

    def __init__(self, ask: Callable[[], None], *, clock: Clock = SYSTEM) -> None:
        self._ask = ask
        self._clock = clock
        self._failure: Failure | None = None
        self._error: Exception | None = None
        self._is_done = threading.Event()
        self._is_done.set()

    def failure(self, url: str) -> Failure | None:
        """Return why the store at `url` cannot be used, None where it can."""
        if self._is_done.is_set():
            self._is_done.clear()
            threading.Thread(target=self._run, name="artifact store probe", daemon=True).start()
        if not self._clock.wait(self._is_done, LONGEST_SECONDS):
            return silent(url, LONGEST_SECONDS).failure
        if self._error is not None:
            raise self._error
        return self._failure

    def _run(self) -> None:
        self._failure = self._error = None
        try:
            self._ask()
        except ArtifactFailure as failed:
            self._failure = failed.failure
        except Exception as error:
            self._error = error
        finally:
            self._is_done.set()
