"""Two build workers on one queue; a killed one is replaced."""

from tests.processes import CeleryWorker

DELAY_SECONDS = 1.5
"""Time in the middle of each step, in which to do harm."""


class Pair:
    """Keeps two workers alive; every step of theirs takes a while."""

    def __init__(self, pool: str, *, delay_seconds: float) -> None:
        self.pool = pool
        self._delay = str(delay_seconds)
        self._workers: dict[int, CeleryWorker] = {}
        self._gone: list[CeleryWorker] = []

    def fill(self) -> None:
        """Start what is missing; it becomes ready by itself."""
        while len(self._workers) < 2:
            worker = CeleryWorker(
                f"build.{self.pool}",
                concurrency=1,
                environment={"ENGINEHOUSE_STEP_DELAY_SECONDS": self._delay},
            )
            self._workers[worker.pid] = worker

    def wait_until_ready(self) -> None:
        for worker in self._workers.values():
            worker.wait_until_ready()

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
