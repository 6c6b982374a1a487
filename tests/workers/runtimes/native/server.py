"""Starts, asks and stops an engine process."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self

import httpx
from openai import OpenAI
from openai.types import CompletionUsage

PATIENCE_SECONDS = 90


class EngineServer:
    """One `python -m workers.runtimes.native`, ready when the block begins."""

    def __init__(
        self,
        folder: Path,
        *,
        log: Path,
        step_delay_seconds: float = 0.0,
        options: Sequence[str] = (),
    ) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = log
        self._output = log.open("wb")
        self.process = subprocess.Popen(
            engine_command(folder, self.port, options),
            env={**os.environ, "ENGINEHOUSE_STEP_DELAY_SECONDS": str(step_delay_seconds)},
            stderr=self._output,
        )

    def __enter__(self) -> Self:
        wait_until(self._is_listening)
        self.http = httpx.Client(base_url=self.url, timeout=PATIENCE_SECONDS)
        self.openai = OpenAI(base_url=f"{self.url}/v1", api_key="none", max_retries=0)
        return self

    def __exit__(self, *exception: object) -> None:
        self.http.close()
        self.openai.close()
        self._output.close()
        self.process.kill()
        self.process.wait()

    def post(self, route: str, **body: Any) -> httpx.Response:
        """Send one request with the official shape but no client library."""
        return self.http.post(route, json=body)

    def metric(self, name: str) -> float:
        """Give back a number of /metrics."""
        for line in self.http.get("/metrics").text.splitlines():
            if line.startswith(f"{name} "):
                return float(line.split()[1])
        raise LookupError(name)

    def _is_listening(self) -> bool:
        if self.process.poll() is not None:
            raise RuntimeError(f"the engine ended: {self.log.read_text()[-2000:]}")
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0


def counts(usage: CompletionUsage | None) -> tuple[int, int, int]:
    """Give back the tokens of a usage; how many were cached depends on who asked before."""
    assert usage is not None
    return usage.prompt_tokens, usage.completion_tokens, usage.total_tokens


def engine_command(folder: Path, port: int, options: Sequence[str] = ()) -> list[str]:
    """Give back the command line that the runtime renders for a CPU."""
    return [
        sys.executable, "-m", "workers.runtimes.native", "--model-dir", str(folder),
        "--host", "127.0.0.1", "--port", str(port), "--served-model-name", "tiny",
        "--threads", "1", "--dtype", "float32", "--kv-cache-bytes", "4194304", *options,
    ]  # fmt: skip


def free_port() -> int:
    """Give back a port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_until(is_true: Callable[[], bool], *, seconds: float = PATIENCE_SECONDS) -> None:
    """Come back as soon as the condition holds, or fail."""
    deadline = time.monotonic() + seconds
    while not is_true():
        if time.monotonic() > deadline:
            raise TimeoutError(f"not so within {seconds} s")
        time.sleep(0.01)
