"""A database and the real web process, for benchmarks that ask it over HTTP."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import httpx

from benchmarks import cpu_time
from benchmarks.report import percentile
from controlplane.processes import postgres, valkey
from workers.runtimes.ports import free_port

_START_SECONDS = 300
"""A start takes 3 s of the processor, and on a machine that many share minutes."""
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


@dataclass(frozen=True)
class Spent:
    """What requests took in milliseconds; PostgreSQL's share counts as well."""

    cpu: list[float] = field(default_factory=list)
    clock: list[float] = field(default_factory=list)

    def figures(self) -> dict[str, float]:
        return {
            "p50_cpu_milliseconds": round(median(self.cpu), 2),
            "p95_cpu_milliseconds": round(percentile(self.cpu, 0.95), 2),
            "p50_milliseconds": round(median(self.clock), 2),
            "p95_milliseconds": round(percentile(self.clock, 0.95), 2),
        }


def in_turns(
    asked: Mapping[str, Callable[[], httpx.Response]], *, rounds: int, warm_up: int
) -> dict[str, Spent]:
    """Return what each takes of this process's children; a busy machine meets them all alike."""
    spent = {name: Spent() for name in asked}
    for turn in range(warm_up + rounds):
        for name, ask in asked.items():
            cpu, started = cpu_time.of_descendants(os.getpid()), time.perf_counter()
            ask().raise_for_status()
            clock = time.perf_counter() - started
            if turn >= warm_up:
                spent[name].clock.append(clock * 1000)
                spent[name].cpu.append((cpu_time.of_descendants(os.getpid()) - cpu) * 1000)
    return spent


def beside(spent: Mapping[str, Spent], rival: str, *, name: str) -> dict[str, float]:
    """Return the ratios of all that is not the rival, together, to the rival."""
    ours = Spent()
    for kind, each in spent.items():
        if kind != rival:
            ours.cpu.extend(each.cpu)
            ours.clock.extend(each.clock)
    ours_figures, theirs = ours.figures(), spent[rival].figures()
    return {
        f"{name}_{figure.removesuffix('_milliseconds')}_ratio_to_{rival}": round(
            value / theirs[figure], 2
        )
        for figure, value in ours_figures.items()
    }


@contextmanager
def data_folder(what: str) -> Iterator[Path]:
    """A new folder that PostgreSQL's own user may enter."""
    with tempfile.TemporaryDirectory(prefix=f"eh-{what}-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


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
def servers(folder: Path, **environment: str) -> Iterator[None]:
    """PostgreSQL and Valkey in the folder; this process and its children are told where."""
    with database(folder) as url, broker(folder) as broker_url:
        os.environ.update(
            DJANGO_SETTINGS_MODULE="controlplane.settings",
            DATA_DIR=str(folder),
            DATABASE_URL=url,
            BROKER_URL=broker_url,
            **environment,
        )
        yield


@contextmanager
def web_beside_bare(
    headers: Mapping[str, str] | None = None,
) -> Iterator[tuple[httpx.Client, httpx.Client]]:
    """Clients of the web process and of the one with bare views."""
    with (
        web() as ours,
        bare_web() as bare,
        httpx.Client(base_url=ours, headers=headers, timeout=30) as to_ours,
        httpx.Client(base_url=bare, headers=headers, timeout=30) as to_bare,
    ):
        yield to_ours, to_bare


@contextmanager
def web(tree: Path = ROOT) -> Iterator[str]:
    """The address of a web process of that tree, with this process's environment."""
    with _serving({}, "/v1/version", tree) as address:
        yield address


@contextmanager
def bare_web() -> Iterator[str]:
    """The same process with bare views on the same database, to be compared with."""
    with _serving({"DJANGO_SETTINGS_MODULE": "benchmarks.bare_django.settings"}, "/ready") as bare:
        yield bare


@contextmanager
def _serving(environment: Mapping[str, str], ready: str, tree: Path = ROOT) -> Iterator[str]:
    port = free_port("127.0.0.1")
    process = subprocess.Popen(
        [sys.executable, "-m", "controlplane.processes.web", "--port", str(port)],
        cwd=tree,
        env={**os.environ, **environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    address = f"http://127.0.0.1:{port}"
    try:
        _wait_for(f"{address}{ready}")
        yield address
    finally:
        process.terminate()
        process.wait(15)


def _wait_for(url: str) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline:
        try:
            httpx.get(url, timeout=5).raise_for_status()
            return
        except httpx.HTTPError:
            time.sleep(0.05)
    raise SystemExit(f"The web process did not answer within {_START_SECONDS} s.")
