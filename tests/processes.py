"""Real processes of the product for tests: started against the test's database and broker."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Self, TypeVar
from urllib.parse import quote

ROOT = Path(__file__).resolve().parents[1]
_READY_SECONDS = 180.0
_Value = TypeVar("_Value")


class CeleryWorker:
    """A Celery worker on one queue; end it as a `with` block, or kill it as the test wants."""

    def __init__(self, queue: str, *, concurrency: int, environment: Mapping[str, str]) -> None:
        self.log = _log_path(queue)
        with self.log.open("wb") as output:
            self._process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "celery", "-A", "controlplane.celery", "worker"),
                    *("-P", "threads", "-c", str(concurrency), "-Q", queue),
                    *("-n", f"{queue}-{self.log.stem}@test", "-l", "INFO"),
                    *("--without-gossip", "--without-mingle", "--without-heartbeat"),
                ],
                cwd=ROOT,
                env={**os.environ, "DATABASE_URL": database_url(), **environment},
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
            lambda: b" ready." in self.log.read_bytes() or not self.is_running,
            seconds=_READY_SECONDS,
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
        self._process.wait(60)


def database_url() -> str:
    """The URL of the database that pytest-django made for this run."""
    from django.db import connection

    entry = connection.settings_dict
    return f"postgresql://{entry['USER']}@/{entry['NAME']}?host={quote(entry['HOST'], safe='')}"


def wait_for(
    condition: Callable[[], _Value],
    *,
    seconds: float,
    what: object,
    meanwhile: Callable[[], object] = lambda: None,
) -> _Value:
    """Return the condition's first true value; `meanwhile` is called between looks."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds} s: {what() if callable(what) else what}")
        meanwhile()
        time.sleep(0.05)
    return value


def _log_path(queue: str) -> Path:
    folder = Path(os.environ["DATA_DIR"]) / "worker-logs"
    folder.mkdir(exist_ok=True)
    return folder / f"{queue}-{len(list(folder.iterdir()))}.log"
