"""One engine, started by the smoke test and stopped with it."""

import logging
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path
from typing import Any, Self, TypeVar

from controlplane.clock import SYSTEM, Clock
from controlplane.domain.runtimes import RUNTIMES, Launch
from workers.bounded_http import Limits, NoAnswer
from workers.bounded_http import ask as asked
from workers.build_steps.crashes import explain_crash
from workers.build_steps.environment import engine_environment
from workers.build_steps.failures import StepFailure, bad_answer, engine_slow
from workers.runtimes.container.failures import failure_in
from workers.runtimes.launcher import Launcher

Answer = TypeVar("Answer")

_POLL_SECONDS = 0.05
_STOP_SECONDS = 5.0
_TAIL_CHARACTERS = 131_072
"""All that an engine says until it is ready: where its memory went is told in the middle."""
_DETAIL_LINES = 30
_PAGE_BYTES = 16 * 1024 * 1024

log = logging.getLogger(__name__)


class EngineProcess:
    """An engine process whose output is passed on and whose end is noticed."""

    def __init__(
        self,
        launch: Launch,
        *,
        runtime: str,
        host: str,
        folder: Path,
        working_folder: Path | None = None,
        spec: Mapping[str, Any] | None = None,
        clock: Clock = SYSTEM,
    ) -> None:
        self._launch = launch
        self._runtime = runtime
        self._spec = spec
        self._clock = clock
        self._folder = folder
        self._working_folder = working_folder
        self._tail = ""
        port = launch.argv[launch.argv.index("--port") + 1]
        self.url = f"http://{host}:{port}"

    def __enter__(self) -> Self:
        for name, content in self._launch.files.items():
            (self._folder / name).write_text(content)
        log.info("starting %s", " ".join(self._launch.argv))
        # In the step's own session: what ends the step ends the engine.
        self._process = subprocess.Popen(
            self._launch.argv_in(str(self._folder)),
            env=engine_environment(self._launch.environment),
            cwd=self._working_folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        self._reader = threading.Thread(target=self._pass_on, name="engine log", daemon=True)
        self._reader.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._process.terminate()
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join(timeout=_STOP_SECONDS)
        assert self._process.stdout is not None
        self._process.stdout.close()

    def wait_until_ready(self, seconds: float) -> None:
        """Return once `/health` answers; raise StepFailure when the engine ends or takes longer."""
        deadline = self._clock.monotonic() + seconds
        while self._clock.monotonic() < deadline:
            self._check_alive()
            # It listens only once the model is loaded.
            with suppress(NoAnswer):
                if self._get("/health", seconds=2.0) is not None:
                    return
            self._clock.sleep(_POLL_SECONDS)
        raise engine_slow(seconds, self.last_lines())

    def report(self, launcher: Launcher) -> dict[str, Any]:
        """Return what the engine says of itself; nothing where it says nothing."""

        def ask() -> dict[str, Any]:
            return launcher.read_report(self._page, self._tail) or {}

        return self.guarded(ask)

    def guarded(self, ask: Callable[[], Answer]) -> Answer:
        """Return what `ask` returns; an engine that died meanwhile is the reason to tell."""
        try:
            return ask()
        except NoAnswer as error:
            self._check_alive(settle_seconds=1.0)
            raise bad_answer(str(error), self.last_lines()) from error

    def _page(self, path: str) -> bytes | None:
        return self._get(path, seconds=10.0)

    def _get(self, path: str, *, seconds: float) -> bytes | None:
        limits = Limits(seconds=seconds, most_bytes=_PAGE_BYTES, clock=self._clock)
        answer = asked("GET", f"{self.url}{path}", limits=limits)
        return answer.content if answer.status == HTTPStatus.OK else None

    def _check_alive(self, settle_seconds: float = 0.0) -> None:
        """Raise StepFailure for an engine that has ended."""
        try:
            status = self._process.wait(settle_seconds)
        except subprocess.TimeoutExpired:
            return
        self._reader.join(timeout=_STOP_SECONDS)
        reported = failure_in(self._working_folder) if self._working_folder else None
        known = reported or RUNTIMES[self._runtime].failures.explain(self._tail, self._spec)
        raise StepFailure(known or explain_crash("The engine", status, self._tail, spec=self._spec))

    def last_lines(self) -> str:
        return "\n".join(self._tail.strip().splitlines()[-_DETAIL_LINES:])

    def _pass_on(self) -> None:
        assert self._process.stdout is not None
        while chunk := os.read(self._process.stdout.fileno(), 65_536):
            self._tail = (self._tail + chunk.decode(errors="replace"))[-_TAIL_CHARACTERS:]
            sys.stderr.buffer.write(chunk)
            sys.stderr.buffer.flush()
