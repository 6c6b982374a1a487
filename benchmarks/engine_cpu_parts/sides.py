"""The processes that are compared: ours over HTTP, Transformers over a pipe."""

import json
import os
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from http.client import HTTPConnection
from pathlib import Path

from workers.runtimes.ports import free_port

ROOT = Path(__file__).resolve().parents[2]
BATCH = 8
_TRANSFORMERS = Path(__file__).with_name("transformers_side.py")


@dataclass(frozen=True, kw_only=True)
class Request:
    """One request: token ids in, exactly so many tokens out."""

    prompt: list[int]
    max_tokens: int


class Ours:
    """The engine's server process."""

    def __init__(self, folder: Path, threads: int, dtype: str) -> None:
        self.port = free_port("127.0.0.1")
        command = [
            sys.executable, "-m", "workers.runtimes.native", "--model-dir", str(folder),
            "--port", str(self.port), "--threads", str(threads), "--dtype", dtype,
            "--max-batch-size", str(BATCH), "--max-seq-len", "2048",
            "--kv-cache-bytes", str(1 << 29),
        ]  # fmt: skip
        started = time.monotonic()
        self.process = subprocess.Popen(
            command, cwd=ROOT, env=_environment(threads), stderr=subprocess.DEVNULL
        )
        self._wait_until_ready()
        self.ready_seconds = time.monotonic() - started

    def run(self, requests: list[Request]) -> None:
        """Send everything at once and wait for all answers."""
        with ThreadPoolExecutor(len(requests)) as clients:
            list(clients.map(self._ask, requests))

    def stop(self) -> None:
        """End the server."""
        self.process.terminate()
        self.process.wait(timeout=30)

    def _ask(self, request: Request) -> None:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=300)
        body = json.dumps({**asdict(request), "temperature": 0, "ignore_eos": True})
        connection.request("POST", "/v1/completions", body)
        answer = json.load(connection.getresponse())
        connection.close()
        if answer["usage"]["completion_tokens"] != request.max_tokens:
            raise RuntimeError(f"asked for {request.max_tokens} tokens, got {answer['usage']}")

    def _wait_until_ready(self) -> None:
        while self.process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
            except OSError:
                time.sleep(0.02)
            else:
                return
        raise RuntimeError(f"the engine ended with {self.process.returncode} before it was ready")


class Rival:
    """Transformers in a process of its own: `static` batches, or its `continuous` batcher."""

    def __init__(self, kind: str, folder: Path, threads: int, dtype: str) -> None:
        self.kind = kind
        self.process = subprocess.Popen(
            [sys.executable, _TRANSFORMERS, kind, folder, str(threads), str(BATCH), dtype],
            env=_environment(threads), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip

    def wait_until_ready(self) -> None:
        """Come back once the model is loaded."""
        self._expect("ready")

    def run(self, requests: list[Request]) -> None:
        """Hand the requests over and wait until all of them are through."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps([asdict(request) for request in requests]) + "\n")
        self.process.stdin.flush()
        self._expect("done")

    def stop(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.communicate()

    def _expect(self, word: str) -> None:
        assert self.process.stdout is not None
        line = self.process.stdout.readline().strip()
        if line != word:
            raise RuntimeError(f"Transformers ({self.kind}) said {line!r} where {word!r} was due")


def _environment(threads: int) -> dict[str, str]:
    offline = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}
    return {**os.environ, **offline, "OMP_NUM_THREADS": str(threads)}
