"""Build workers on one queue; a killed one is replaced."""

import os
from collections.abc import Mapping
from pathlib import Path

from tests.processes import CeleryWorker
from workers.build_steps.environment import HOLDS_VARIABLE


class Pair:
    """Keeps so many workers alive, two unless told otherwise."""

    def __init__(self, pool: str, *, environment: Mapping[str, str], count: int = 2) -> None:
        self.pool = pool
        self._holds = Path(os.environ["DATA_DIR"]) / "holds" / pool
        self._holds.mkdir(parents=True, exist_ok=True)
        self._environment = {**environment, HOLDS_VARIABLE: str(self._holds)}
        self._count = count
        self._workers: dict[int, CeleryWorker] = {}
        self._gone: list[CeleryWorker] = []

    def fill(self) -> None:
        """Start what is missing; it becomes ready by itself."""
        while len(self._workers) < self._count:
            worker = CeleryWorker(
                f"build.{self.pool}", concurrency=1, environment=self._environment
            )
            self._workers[worker.pid] = worker

    def wait_until_ready(self) -> None:
        for worker in self._workers.values():
            worker.wait_until_ready()

    def hold(self, *places: str) -> None:
        """Let the children of these workers stand still there, until they are let go."""
        for place in places:
            (self._holds / place).touch()

    def let_go(self, *places: str) -> None:
        """Let them go on."""
        for place in places:
            (self._holds / place).unlink(missing_ok=True)

    def take(self, pid: int) -> CeleryWorker:
        """Hand over a worker to be ended, and start another in its place."""
        worker = self._workers.pop(pid)
        self._gone.append(worker)
        self.fill()
        return worker

    def kill_all(self) -> None:
        for worker in [*self._workers.values(), *self._gone]:
            worker.kill()

    def words(self) -> str:
        """What the workers said, those that were taken included: a stopped one may go on."""
        workers = [*self._workers.values(), *self._gone]
        return "\n".join(each.log.read_text() for each in workers)
