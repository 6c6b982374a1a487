"""Starts, asks and stops an engine process."""

import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, Self

import httpx
from openai import OpenAI
from openai.types import CompletionUsage

PATIENCE_SECONDS = 90
_READY = re.compile(r"ready on http://127\.0\.0\.1:(\d+) after")


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
        self.port = 0
        self.log = log
        with log.open("wb") as output:
            self.process = subprocess.Popen(
                engine_command(folder, options),
                env={**os.environ, "ENGINEHOUSE_STEP_DELAY_SECONDS": str(step_delay_seconds)},
                stderr=output,
            )

    def __enter__(self) -> Self:
        try:
            wait_until(self._is_listening)
        except BaseException:
            self._end()
            raise
        self.http = httpx.Client(base_url=self.url, timeout=PATIENCE_SECONDS)
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

    def wait_until_let_in(self, asked: Sequence[Future[httpx.Response]]) -> None:
        """Come back once all that have no answer yet are running or waiting."""
        wait_until(lambda: sum(not each.done() for each in asked) <= self._requests())

    def _requests(self) -> float:
        return self.metric("engine_requests_running") + self.metric("engine_requests_waiting")

    def _is_listening(self) -> bool:
        if self.process.poll() is not None:
            raise RuntimeError(f"the engine ended: {self.log.read_text()[-2000:]}")
        # It says so once the model is loaded, and listens a moment later.
        told = _READY.search(self.log.read_text())
        if told is None:
            return False
        self.port = int(told[1])
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def _end(self) -> None:
        self.process.kill()
        self.process.wait()


def refusal(ask: Callable[[], httpx.Response], *, clients: int) -> httpx.Response:
    """Let so many ask at once, and again, until one is refused; give back that answer.

    On a busy machine one may come only when another has its answer already.
    """
    with ThreadPoolExecutor(clients) as pool:
        while True:
            asked = [pool.submit(ask) for _ in range(clients)]
            for answer in [each.result() for each in asked]:
                if answer.status_code != 200:
                    return answer


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


def wait_until(is_true: Callable[[], bool], *, seconds: float = PATIENCE_SECONDS) -> None:
    """Come back as soon as the condition holds, or fail."""
    deadline = time.monotonic() + seconds
    while not is_true():
        if time.monotonic() > deadline:
            raise TimeoutError(f"not so within {seconds} s")
        time.sleep(0.01)
