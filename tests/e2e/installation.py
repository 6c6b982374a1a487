"""A whole installation for tests: `manage.py up` on an own folder, with a tiny deployed model."""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from apps.dashboard.demo.access import grant_access
from apps.dashboard.demo.console import Console
from apps.dashboard.demo.job import Job
from apps.dashboard.demo.machine import Machine, running_machine
from apps.dashboard.demo.question import endpoint
from controlplane.processes.running import RunningServices
from tests.tiny_checkpoint import make_tiny_checkpoint
from tests.waiting import DEADLINE_SECONDS, wait_for

_LONGEST_PAUSE_SECONDS = 0.5
"""Between two looks at an installation: each asks its API and reads every process's environment."""

TINY_YAML = """\
model_name: tiny
resources:
  cpu: "1"
  memory: 2Gi
trt_llm:
  build:
    base_model: decoder
    checkpoint_repository:
      source: LOCAL
      repo: tiny
    max_seq_len: 512
    max_batch_size: 4
    quantization_type: no_quant
"""

OF_THE_TESTS = (
    *("DATABASE_URL", "BROKER_URL", "DATA_DIR", "LOCAL_CHECKPOINT_ROOTS"),
    *("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"),
)
"""Variables that an installation does not inherit: our servers and folders, and that no hub may be
asked, which the engine says at its import to a process of tests that has imported it."""

MARKS = {
    "web": "controlplane.processes.web",
    "gateway": "workers.gateway",
    "agent": "workers.agent",
    "scheduler": "controlplane.beat beat",
    "control": "-Q control",
    "async": "-Q async",
    "build": "-Q build",
    "postgres": "bin/postgres",
    "valkey": "valkey",
    "engine": "workers.runtimes.native",
    "runner": "workers.agent.runner",
    "step": "workers.build_steps",
}


@dataclass
class Installation:
    """Handles on a running installation: its REST API, its endpoint and its processes."""

    folder: Path
    machine: Machine
    services: RunningServices
    api_key: str
    sign_in_link: str
    started: ExitStack
    """What ends with the installation."""

    stops_engines: bool
    """Whether engines end with it."""

    def start_again(self) -> None:
        """Start everything anew on the folder, once the supervisor has been killed."""
        self.stops_engines = True
        self.machine = self.started.enter_context(running_machine(self.folder))
        self.services = self.machine.wait_until_ready()

    def deploy(self, text: str = TINY_YAML) -> dict[str, Any]:
        """Return the model `tiny` that serves a build of the config in production."""
        with self._job() as job:
            config = job.config("tiny", text)
            job.wait_until_checked(text)
            return job.deployed(name="tiny", build=job.build(config))

    def config(self, name: str, text: str) -> dict[str, Any]:
        """Return a stored config with this text."""
        with self._job() as job:
            return job.config(name, text)

    def _job(self) -> Job:
        return Job(
            public_url=self.services.public_url,
            api_key=self.api_key,
            console=Console(sys.stderr),  # a benchmark prints its report alone
            watch=self.machine.check_alive,
        )

    def get(self, path: str) -> dict[str, Any]:
        """Return the JSON of a management GET."""
        answer = self._call("GET", path)
        answer.raise_for_status()
        return dict(answer.json())

    def post(self, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the JSON of a management POST."""
        answer = self._call("POST", path, json=body)
        answer.raise_for_status()
        return dict(answer.json())

    def patch(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Return the JSON of a management PATCH."""
        answer = self._call("PATCH", path, json=body)
        answer.raise_for_status()
        return dict(answer.json())

    def ask(self, model_id: str, *, max_tokens: int = 4) -> httpx.Response:
        """Return the endpoint's answer to one short chat."""
        base_url = endpoint(gateway_url=self.services.gateway_url, model_id=model_id)
        return _client().post(
            f"{base_url}/chat/completions",
            headers={"Authorization": f"Bearer {self.api_key}"},
            json={
                "messages": [{"role": "user", "content": "The sky"}],
                "max_tokens": max_tokens,
                "temperature": 0,
            },
        )

    def answers(self, model_id: str) -> bool:
        """Whether the endpoint answers a chat at this moment."""
        with suppress(httpx.HTTPError):
            return self.ask(model_id).status_code == httpx.codes.OK
        return False

    def pids(self, kind: str) -> list[int]:
        """Return the processes of one kind that work on this folder, oldest first."""
        return self.pids_by_kind().get(kind, [])

    def pids_by_kind(self) -> dict[str, list[int]]:
        """Return them of every kind, by one look: each reads what all of the machine's say."""
        values: dict[str, list[int]] = {}
        for each in self._processes():
            values.setdefault(_kind(each) or "", []).append(each.pid)
        return values

    def pid(self, kind: str) -> int:
        """Return the one process of a kind; a worker's own parent where it forks."""
        return self.pids(kind)[0]

    def kill(self, kind: str) -> int:
        """Kill -9 the process of a kind and return which one it was."""
        victim = self.pid(kind)
        os.kill(victim, signal.SIGKILL)
        return victim

    def log(self) -> str:
        """Return what its processes have said since it was started last."""
        return (self.folder / "logs" / "up.log").read_text(errors="replace")

    def kill_all(self, *kinds: str) -> None:
        """Kill -9 every process of these kinds, and return when none is left."""

        def none_is_left() -> bool:
            left = [pid for kind in kinds for pid in self.pids(kind)]
            for pid in left:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            return not left

        wait_for(none_is_left, what=lambda: f"the end of {kinds}")

    def _processes(self) -> list[psutil.Process]:
        # Valkey writes over its title and environment: only its parent tells whose it is.
        mine = {each for each in psutil.process_iter() if _works_on(each, self.folder)}
        with suppress(psutil.NoSuchProcess):
            mine.update(psutil.Process(self.machine.pid).children(recursive=True))
        return sorted(mine, key=lambda each: each.create_time())

    def _call(self, method: str, path: str, **more: Any) -> httpx.Response:
        return _client().request(
            method,
            f"{self.services.public_url}/v1/{path}",
            headers={"Authorization": f"Bearer {self.api_key}"},
            **more,
        )


@cache
def _client() -> httpx.Client:
    """Return the one client, since the certificates of a new one take longer than the answer.

    It keeps no connection: who sits at its other end is killed.
    """
    limits = httpx.Limits(max_keepalive_connections=0)
    return httpx.Client(limits=limits, timeout=DEADLINE_SECONDS, trust_env=False)


@contextmanager
def installation(folder: Path, *, stop_engines: bool = True) -> Iterator[Installation]:
    """Start everything on `folder` with a tiny local checkpoint, and stop it again."""
    make_tiny_checkpoint(folder / "checkpoints" / "tiny")
    with _without_what_is_the_tests_own(), ExitStack() as started:
        machine = started.enter_context(running_machine(folder, stop_engines=stop_engines))
        services = machine.wait_until_ready()
        access = grant_access(folder)
        running = Installation(
            folder=folder,
            machine=machine,
            services=services,
            api_key=access.api_key,
            sign_in_link=access.sign_in_link,
            started=started,
            stops_engines=stop_engines,
        )
        started.callback(_show, running)
        yield running


def _show(running: Installation) -> None:
    """Write what the processes said last, which is shown with a failure only."""
    # Not to where a benchmark prints its report.
    sys.stderr.write("\n".join(running.log().splitlines()[-400:]))


@contextmanager
def _without_what_is_the_tests_own() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name in OF_THE_TESTS:
            patch.delenv(name, raising=False)
        yield


def eventually(holds: Callable[[], bool], *, what: object) -> None:
    """Return once it holds; whom it asks may be out of reach until then."""

    def holds_now() -> bool:
        with suppress(httpx.HTTPError, psutil.Error, IndexError):
            return holds()
        return False

    wait_for(holds_now, what=what, longest_pause_seconds=_LONGEST_PAUSE_SECONDS)


def _works_on(process: psutil.Process, folder: Path) -> bool:
    with suppress(psutil.Error):
        named = str(folder) in " ".join(process.cmdline())
        return named or process.environ().get("DATA_DIR") == str(folder)
    return False


def _kind(process: psutil.Process) -> str | None:
    with suppress(psutil.Error):
        words = " ".join(process.cmdline())
        pairs = [kind for kind, mark in MARKS.items() if mark in words]
        # `workers.agent.runner` carries the agent's mark too: the longest one names the kind.
        return max(pairs, key=lambda kind: len(MARKS[kind]), default=None)
    return None
