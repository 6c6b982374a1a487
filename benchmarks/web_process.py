"""A database and the real web process, for benchmarks that ask it over HTTP."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from controlplane.processes import postgres, valkey
from workers.runtimes.ports import free_port

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, kw_only=True)
class Times:
    """Of one request: at the clock, and of the processor."""

    p50_ms: float
    p95_ms: float
    cpu_ms: float


def times_of(
    client: httpx.Client,
    path: str,
    *,
    requests: int,
    warm_up: int,
    cpu_seconds: Callable[[], float],
) -> Times:
    """Return what a path takes, asked again and again on one kept connection."""
    for _ in range(warm_up):
        client.get(path).raise_for_status()
    spent, before = [], cpu_seconds()
    for _ in range(requests):
        started = time.perf_counter()
        client.get(path).raise_for_status()
        spent.append((time.perf_counter() - started) * 1000)
    used = cpu_seconds() - before
    spent.sort()
    return Times(
        p50_ms=round(spent[len(spent) // 2], 2),
        p95_ms=round(spent[min(len(spent) - 1, int(len(spent) * 0.95))], 2),
        cpu_ms=round(used * 1000 / requests, 2),
    )


@contextmanager
def database(folder: Path) -> Iterator[str]:
    """The URL of an embedded PostgreSQL in the folder."""
    data = folder / "postgres"
    postgres.initialise(data)
    command = postgres.command(data)
    server = subprocess.Popen(
        command.argv, user=command.user, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        postgres.wait_until_ready(postgres.url(data), timeout_seconds=30)
        yield postgres.url(data)
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(20)


@contextmanager
def broker(folder: Path) -> Iterator[str]:
    """The URL of an embedded Valkey in the folder."""
    data, port = folder / "valkey", free_port("127.0.0.1")
    valkey.initialise(data, port=port)
    server = subprocess.Popen(valkey.command(data).argv, stdout=subprocess.DEVNULL)
    try:
        valkey.wait_until_ready(valkey.url(data, port=port), timeout_seconds=30)
        yield valkey.url(data, port=port)
    finally:
        server.terminate()
        server.wait(20)


@contextmanager
def web() -> Iterator[str]:
    """The address of a web process with this process's environment."""
    port = free_port("127.0.0.1")
    process = subprocess.Popen(
        [sys.executable, "-m", "controlplane.processes.web", "--port", str(port)],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    address = f"http://127.0.0.1:{port}"
    try:
        _wait_for(f"{address}/v1/version")
        yield address
    finally:
        process.terminate()
        process.wait(15)


def _wait_for(url: str) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            httpx.get(url, timeout=5).raise_for_status()
            return
        except httpx.HTTPError:
            time.sleep(0.05)
    raise SystemExit("The web process did not answer within 30 s.")
