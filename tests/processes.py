"""Real processes of the product for tests: started against the test's database and broker."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Self
from urllib.parse import quote

from tests.gates import Gates
from tests.waiting import DEADLINE_SECONDS, wait_for

ROOT = Path(__file__).resolve().parents[1]


class CeleryWorker:
    """A Celery worker on one queue; end it as a `with` block, or kill it as the test wants."""

    def __init__(self, queue: str, *, gates: Gates, role: str = "") -> None:
        self._gates = gates
        self.log = _log_path(queue)
        with self.log.open("wb") as output:
            self._process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "celery", "-A", "controlplane.celery", "worker"),
                    *("-P", "threads", "-c", "1", "-Q", queue),
                    *("-n", f"{queue}-{self.log.stem}@test", "-l", "INFO"),
                    *("--without-gossip", "--without-mingle", "--without-heartbeat"),
                ],
                cwd=ROOT,
                env={**os.environ, "DATABASE_URL": database_url(role), **gates.environment},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.kill()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def wait_until_ready(self) -> Self:
        """Give it back once it takes messages."""
        wait_for(
            lambda: self.pid in self._gates.came("worker.ready") or not self.is_running,
            what=lambda: f"worker ready:\n{self.log.read_text()[-3000:]}",
        )
        assert self.is_running, self.log.read_text()[-3000:]
        return self

    def send(self, number: signal.Signals) -> None:
        """Signal the worker alone, not what it started."""
        self._process.send_signal(number)

    def kill(self) -> None:
        """Kill -9, and wait until it is gone."""
        self._process.kill()
        self._process.wait(DEADLINE_SECONDS)


def database_url(role: str = "") -> str:
    """The URL of the database that pytest-django made for this run, for its owner or a role."""
    from django.db import connection

    entry = connection.settings_dict
    user = role or entry["USER"]
    return f"postgresql://{user}@/{entry['NAME']}?host={quote(entry['HOST'], safe='')}"


def _log_path(queue: str) -> Path:
    folder = Path(os.environ["DATA_DIR"]) / "worker-logs"
    folder.mkdir(exist_ok=True)
    return folder / f"{queue}-{len(list(folder.iterdir()))}.log"
