"""Questions to a running engine, asked beside the agent's loop so that a slow one delays nobody."""

import logging
from collections.abc import Callable
from concurrent.futures import Executor, Future
from http import HTTPStatus
from typing import Any

from controlplane.clock import SYSTEM, Clock
from controlplane.domain.runtimes import RUNTIMES
from controlplane.domain.wire.engine_report import engine_report
from workers.agent.patience import LookedTime
from workers.bounded_http import Limits, NoAnswer, ask
from workers.runtimes.launchers import LAUNCHERS

_LIMITS = Limits(seconds=3.0, most_bytes=16 * 1024 * 1024)
UNTIL_READY_SECONDS, ONCE_READY_SECONDS, METRICS_SECONDS = 0.25, 5.0, 10.0
_REPORTS = 3
"""So often what it says of itself is read: the log of a container comes after its first answer."""
_log = logging.getLogger(__name__)


class Probe:
    """What one engine says of itself; `look` starts the next question when it is due."""

    def __init__(
        self,
        host: str,
        port: int,
        runtime: str,
        log: Callable[[], str],
        *,
        clock: Clock = SYSTEM,
    ) -> None:
        self._clock = clock
        self.is_ready = False
        self.report: dict[str, Any] | None = None
        self.metrics: dict[str, float] | None = None
        self._reports_read = 0
        self._time = LookedTime(clock=clock)
        self._answered_at = self._time.seconds
        self._address = (host, port)
        self._runtime = runtime
        self._log = log
        self._running: Future[None] | None = None
        self._last_logged = ""
        self._next_at = self._metrics_at = 0.0

    @property
    def silent_seconds(self) -> float:
        """How long the engine has not answered, of the time in which it was looked at."""
        return self._time.seconds - self._answered_at

    def excuse(self) -> None:
        self._answered_at = self._time.seconds

    def look(self, pool: Executor) -> None:
        self._time.look()
        now = self._clock.monotonic()
        if now < self._next_at or (self._running is not None and not self._running.done()):
            return
        self._next_at = now + (ONCE_READY_SECONDS if self.is_ready else UNTIL_READY_SECONDS)
        self._running = pool.submit(self._ask)
        self._running.add_done_callback(self._tell)

    def _ask(self) -> None:
        if self._get("/health") is None:
            return
        self._answered_at = self._time.seconds
        if self.report is None or self._reports_read < _REPORTS:
            self._read_report()
        self.is_ready = True
        if self._clock.monotonic() >= self._metrics_at:
            self._read_metrics()

    def _tell(self, question: Future[None]) -> None:
        """Log what an answer broke, once: it is asked for again within seconds."""
        error = question.exception()
        if error is not None and repr(error) != self._last_logged:
            self._last_logged = repr(error)
            _log.warning(
                "engine at %s:%s: its answer cannot be read: %s", *self._address, self._last_logged
            )

    def _read_report(self) -> None:
        launcher = LAUNCHERS.get(self._runtime)
        report = launcher.read_report(self._get, self._log()) if launcher else None
        self.report = None if report is None else engine_report(report)
        self._reports_read += 1

    def _read_metrics(self) -> None:
        metrics = RUNTIMES[self._runtime].metrics
        answer = self._get(metrics.PATH)
        if answer is None:
            return
        self._metrics_at = self._clock.monotonic() + METRICS_SECONDS
        self.metrics = metrics.read(answer.decode(errors="replace"))

    def _get(self, path: str) -> bytes | None:
        host, port = self._address
        url = f"http://{f'[{host}]' if ':' in host else host}:{port}{path}"
        try:
            answer = ask("GET", url, limits=_LIMITS)
        except NoAnswer:
            return None
        return answer.content if answer.status == HTTPStatus.OK else None
