"""The whole of a run: its deployments, told of as they go, and stopped at once where it must be."""

import asyncio
import logging
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from controlplane.clock import SYSTEM, Clock
from controlplane.domain.benchmarks.order import MOST_LEVELS, BenchmarkOrder
from controlplane.domain.failures import Failure
from controlplane.domain.wire.traffic_mark import BENCHMARK, MARK_HEADER
from workers.benchmarking.connection import Client
from workers.benchmarking.progress import progress_write
from workers.benchmarking.target import TargetFailed, TargetRun, level_by_level

_TELL_SECONDS = 1.0
_FEW_REQUESTS = 5_000
"""Of a level under way: adding up more would take time from what is measured."""
log = logging.getLogger(__name__)


def run_benchmark(
    order: BenchmarkOrder, key: str, folder: Path, on_progress: Callable[[int, int], None]
) -> Failure | None:
    """Measure, and leave the figures in the folder; return why it ended early, if it did."""
    return asyncio.run(BenchmarkRun(order, key, folder, on_progress).run())


class BenchmarkRun:
    def __init__(
        self,
        order: BenchmarkOrder,
        key: str,
        folder: Path,
        on_progress: Callable[[int, int], None],
        *,
        clock: Clock = SYSTEM,
    ) -> None:
        headers = {"authorization": f"Bearer {key}", MARK_HEADER: BENCHMARK}
        self._clients = [Client(each.url, headers=headers, clock=clock) for each in order.targets]
        self._runs = [
            TargetRun(order, target, client, clock=clock)
            for target, client in zip(order.targets, self._clients, strict=True)
        ]
        self._order, self._folder, self._on_progress = order, folder, on_progress
        self._clock = clock

    async def run(self) -> Failure | None:
        """Return why it ended early; None where every level was measured or it was stopped."""
        self._begin = self._clock.monotonic()
        work = asyncio.ensure_future(level_by_level(self._runs))
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, work.cancel)
        telling = asyncio.ensure_future(self._keep_telling())
        try:
            await work
        except TargetFailed as failed:
            log.warning("%s", failed.failure.sentence)
            return failed.failure
        except asyncio.CancelledError:
            log.info("stopped")
        finally:
            telling.cancel()
            with suppress(asyncio.CancelledError):
                await telling
            self._tell(with_current=True)
            for client in self._clients:
                client.close()
        return None

    async def _keep_telling(self) -> None:
        while True:
            self._tell(with_current=self._is_cheap)
            await self._clock.pause(_TELL_SECONDS)

    @property
    def _is_cheap(self) -> bool:
        current = (run.current for run in self._runs)
        return sum(each.request_count for each in current if each is not None) <= _FEW_REQUESTS

    def _tell(self, *, with_current: bool) -> None:
        done, total = self._clock.monotonic() - self._begin, self._planned_seconds()
        progress_write(
            self._folder,
            stages=[run.stages_so_far(with_current=with_current) for run in self._runs],
            done_seconds=min(done, total),
            total_seconds=total,
            words=self._words(),
        )
        self._on_progress(int(min(done, total)), int(total))

    def _planned_seconds(self) -> float:
        """Return how long all of it takes by plan, of which nobody knows the answers' own time."""
        load = self._order.load
        count = MOST_LEVELS if load.is_ramp else len(load.levels)
        return len(self._runs) * count * (load.seconds + load.warm_up_seconds)

    def _words(self) -> str:
        for run in self._runs:
            if run.current is not None:
                unit = self._order.load.kind.unit
                return f"{run.target.label} at {run.current.level:g} {unit}"
        return "waiting for the first answer"
