"""Starts, asks and stops an engine process."""

import os
import re
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

import httpx
from openai import OpenAI
from openai.types import CompletionUsage

from tests.gates import Gates
from tests.waiting import DEADLINE_SECONDS, wait_for

STEP = "engine.step"
_READY = re.compile(r"ready on http://127\.0\.0\.1:(\d+) after")


class EngineServer:
    """One `python -m workers.runtimes.native`, ready when the block begins."""

    def __init__(
        self,
        folder: Path,
        *,
        log: Path,
        options: Sequence[str] = (),
        environment: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.port = 0
        self.log = log
        with log.open("wb") as output:
            self.process = subprocess.Popen(
                engine_command(folder, options),
                env={**os.environ, **environment},
                stderr=output,
            )

    def __enter__(self) -> Self:
        try:
            wait_for(
                self._is_listening, what=lambda: f"the engine to listen: {self.log.read_text()}"
            )
        except BaseException:
            self._end()
            raise
        self.http = httpx.Client(base_url=self.url, timeout=DEADLINE_SECONDS)
        self.openai = OpenAI(base_url=f"{self.url}/v1", api_key="none", max_retries=0)
        return self

    def __exit__(self, *exception: object) -> None:
        self.http.close()
        self.openai.close()
        self._end()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def post(self, route: str, **body: Any) -> httpx.Response:
        """Send one request with the official shape but no client library."""
        return self.http.post(route, json=body)

    def metric(self, name: str) -> float:
        """Give back a number of /metrics."""
        for line in self.http.get("/metrics").text.splitlines():
            if line.startswith(f"{name} "):
                return float(line.split()[1])
        raise LookupError(name)

    def requests(self) -> float:
        """Give back how many requests it has let in and not yet answered."""
        return self.metric("engine_requests_running") + self.metric("engine_requests_waiting")

    def listens(self) -> bool:
        """Say whether it takes connections: one that was told to end takes none."""
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def _is_listening(self) -> bool:
        if self.process.poll() is not None:
            raise RuntimeError(f"the engine ended: {self.log.read_text()[-2000:]}")
        # It says so once the model is loaded, and listens a moment later.
        match = _READY.search(self.log.read_text())
        if match is None:
            return False
        self.port = int(match[1])
        return self.listens()

    def _end(self) -> None:
        self.process.kill()
        self.process.wait()


class Steps:
    """The steps of an engine: within a `with` block it takes those alone that it is let take."""

    def __init__(self, gates: Gates) -> None:
        self._gates = gates

    def __enter__(self) -> Self:
        self._gates.hold(STEP)
        self._taken = len(self._gates.came(STEP))
        return self

    def __exit__(self, *exception: object) -> None:
        self._gates.let_go(STEP)

    def stand(self) -> None:
        """Come back once the engine stands before its next step."""
        self._gates.wait_for_arrival(STEP, after=self._taken)

    def take(self) -> None:
        """Let the engine take the step before which it stands, if it stands."""
        came = self._gates.came(STEP)[self._taken :]
        for pid in came:
            self._taken += 1
            self._gates.let_one_go(STEP, pid)


def counts(usage: CompletionUsage | None) -> tuple[int, int, int]:
    """Give back the tokens of a usage; how many were cached depends on who asked before."""
    assert usage is not None
    return usage.prompt_tokens, usage.completion_tokens, usage.total_tokens


def engine_command(folder: Path, options: Sequence[str] = (), *, port: int = 0) -> list[str]:
    """Give back the command line that the runtime renders for a CPU; port 0 takes a free one."""
    return [
        sys.executable, "-m", "workers.runtimes.native", "--model-dir", str(folder),
        "--host", "127.0.0.1", "--port", str(port), "--served-model-name", "tiny",
        "--threads", "1", "--dtype", "float32", "--kv-cache-bytes", "4194304", *options,
    ]  # fmt: skip
