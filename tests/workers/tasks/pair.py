"""Build workers on one queue; a killed one is replaced."""

from tests.gates import Gates
from tests.processes import CeleryWorker


class Pair:
    """Keeps so many workers alive, two unless told otherwise; `gates` holds their children."""

    def __init__(self, pool: str, *, count: int = 2, role: str = "") -> None:
        self.pool = pool
        self._role = role
        self.gates = Gates()
        self._count = count
        self._workers: dict[int, CeleryWorker] = {}
        self._gone: list[CeleryWorker] = []

    @property
    def pids(self) -> list[int]:
        """Those that were not taken."""
        return [*self._workers]

    def fill(self) -> None:
        """Start what is missing; it becomes ready by itself."""
        while len(self._workers) < self._count:
            worker = CeleryWorker(f"build.{self.pool}", gates=self.gates, role=self._role)
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
        self.gates.close()

    def words(self) -> str:
        """What the workers said, those that were taken included: a stopped one may go on."""
        workers = [*self._workers.values(), *self._gone]
        return "\n".join(each.log.read_text() for each in workers)
