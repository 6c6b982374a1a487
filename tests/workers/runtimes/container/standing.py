"""A process that stands for a container, as a test starts it."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.waiting import DEADLINE_SECONDS, wait_for
from tests.workers.runtimes.container.conftest import Docker
from workers.runtimes.container.order import Mount, Order

_ROOT = Path(__file__).resolve().parents[4]


class Standing:
    """One such process, its log, and its container as the engine knows it."""

    def __init__(self, docker: Docker, folder: Path, program: str, **changed: Any) -> None:
        self.docker, self.instance = docker, str(folder)
        self.failure_file = folder / "failure.json"
        files = folder / "files"
        files.mkdir()
        lifeline = _ROOT / "workers/runtimes/container/lifeline.py"
        (files / "lifeline.py").write_bytes(lifeline.read_bytes())
        order = Order(
            **{
                "image_id": docker.image_id,
                "reference": "the test's image",
                "lease": "replica/aaaaa/1",
                "instance": self.instance,
                "mounts": (Mount(source=str(files), target="/enginehouse/files"),),
                "environment": {"ENGINEHOUSE_LEASE": "replica/aaaaa/1"},
                "failure_file": str(self.failure_file),
                **changed,
            }
        )
        order.write(folder / "order.json")
        self.log_path = folder / "log"
        with self.log_path.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "workers.runtimes.container", str(folder / "order.json"),
                 "--", "python3", "/enginehouse/files/lifeline.py", "python3", "-c", program],
                env={**os.environ, **docker.environment}, cwd=_ROOT, stdout=log, stderr=log,
            )  # fmt: skip

    @property
    def log(self) -> str:
        return self.log_path.read_text()

    @property
    def containers(self) -> list[dict[str, Any]]:
        return self.docker.containers(self.instance)

    @property
    def failure(self) -> Any:
        return json.loads(self.failure_file.read_text())

    def until_up(self) -> dict[str, Any]:
        """Return the running container, once its program has said so."""
        wait_for(
            lambda: "up\n" in self.log or self.process.poll() is not None,
            what="the container's first word",
        )
        assert self.process.poll() is None, self.log
        return self.docker.inspect(self.instance)

    def end(self) -> int:
        return self.process.wait(DEADLINE_SECONDS)
