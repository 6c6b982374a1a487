"""The servers that are compared, each a process of its own, and a gateway before one of them."""

import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.gateway_parts.processes import KEY, ROOT, child, control_plane, routes
from controlplane.domain.runtimes.native.capabilities import VERSION
from controlplane.domain.runtimes.open_routes import open_routes

_PATIENCE_SECONDS = 240
NATIVE = f"native {VERSION}"
"""The routes that a gateway opens to clients: those of the engine."""


@dataclass(frozen=True, kw_only=True)
class Server:
    """Where something answers."""

    url: str
    seconds_to_ready: float = 0.0
    key: str = "none"


@contextmanager
def native(
    folder: Path, *, device: str, threads: int = 1, options: Sequence[str] = ()
) -> Iterator[Server]:
    """Serve a checkpoint by the native engine."""
    port = free_port()
    command = [
        sys.executable, "-m", "workers.runtimes.native", f"--model-dir={folder}",
        f"--port={port}", "--served-model-name=served", "--task=pool", f"--device={device}",
        f"--threads={threads}", "--max-batch-size=256", *options,
    ]  # fmt: skip
    with _server(command, port, {}) as server:
        yield server


@contextmanager
def vllm(folder: Path, *, options: Sequence[str] = ()) -> Iterator[Server]:
    """Serve it by the vLLM of VLLM_PYTHON, which may be several words."""
    port = free_port()
    command = [
        *os.environ["VLLM_PYTHON"].split(), "-m", "vllm.entrypoints.cli.main", "serve",
        str(folder), f"--port={port}", "--host=127.0.0.1", "--served-model-name=served",
        "--runner=pooling", "--dtype=bfloat16", "--max-model-len=512",
        "--gpu-memory-utilization=0.4", *options,
    ]  # fmt: skip
    path = {"PYTHONPATH": site} if (site := os.environ.get("VLLM_SITE")) else {}
    with _server(command, port, path) as server:
        yield server


@contextmanager
def bare_sentence_transformers(folder: Path, *, threads: int = 1) -> Iterator[Server]:
    """Serve it by sentence-transformers in the shortest honest ASGI application."""
    port = free_port()
    command = [
        sys.executable, "-m", "benchmarks.encoders_parts.bare_server", str(folder), str(port),
        str(threads),
    ]  # fmt: skip
    with _server(command, port, {}) as server:
        yield server


@contextmanager
def behind_gateway(server: Server) -> Iterator[Server]:
    """Put a gateway process with 200 models and 200 keys before a server."""
    port = free_port()
    engine_port = int(server.url.rpartition(":")[2])
    snapshot = routes(engine_port, engine_port)
    for deployment in snapshot["models"]["model000"]["deployments"].values():
        deployment |= {"predict_route": "/v1/embeddings", "route_table": NATIVE}
    routes_of_it = open_routes("native", VERSION).routes
    snapshot["route_tables"] = {NATIVE: {path: sorted(routes_of_it[path]) for path in routes_of_it}}
    with tempfile.TemporaryDirectory() as folder, control_plane(snapshot) as url:
        values = {
            "CONTROL_PLANE_URL": url, "DATA_DIR": folder, "ENROLLMENT_TOKEN": "token",
            "LOG_LEVEL": "WARNING", "BROKER_URL": "", "LISTEN_FDS": "",
        }  # fmt: skip
        with child("-m", "workers.gateway", f"--port={port}", port=port, environment=values):
            base = f"http://127.0.0.1:{port}/m/model000/environments/production/sync"
            yield Server(url=base, key=KEY)


def free_port() -> int:
    """Give back a port that nobody listens on."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


@contextmanager
def _server(command: Sequence[str], port: int, more: Mapping[str, str]) -> Iterator[Server]:
    """Start it and wait until it says that it is well."""
    log = Path(os.environ.get("OUT", tempfile.gettempdir())) / f"server-{port}.log"
    url, started = f"http://127.0.0.1:{port}", time.monotonic()
    with log.open("wb") as report:
        process = subprocess.Popen(
            command, cwd=ROOT, env={**os.environ, **more}, stdout=report, stderr=subprocess.STDOUT
        )
    try:
        while not _is_well(url):
            if process.poll() is not None or time.monotonic() - started > _PATIENCE_SECONDS:
                end = log.read_text(errors="replace")[-3000:]
                raise RuntimeError(f"{command[:4]} does not serve:\n{end}")
            time.sleep(0.05)
        yield Server(url=url, seconds_to_ready=round(time.monotonic() - started, 2))
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _is_well(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/health", timeout=2) as answer:
            return bool(answer.status == 200)
    except (OSError, urllib.error.URLError):
        return False
