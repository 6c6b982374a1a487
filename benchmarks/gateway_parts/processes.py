"""Child processes of the benchmark, their CPU time and memory, and a small control plane."""

import hashlib
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parents[2]
KEY = "bench000.0123456789abcdef0123456789abcdef"


@contextmanager
def child(
    *arguments: str, port: int, environment: dict[str, str] | None = None, tree: Path = ROOT
) -> Iterator[int]:
    """Yield the pid of a Python process once it accepts connections on `port`."""
    process = subprocess.Popen(
        [sys.executable, *arguments], cwd=tree, env=os.environ | (environment or {})
    )
    try:
        wait_for(port, process)
        yield process.pid
    finally:
        process.terminate()
        process.wait(10)


def load(mode: str, port: int, path: str, **options: object) -> dict:
    """Run a load client to its end; return what it measured."""
    with loading(mode, port, path, **options) as process:
        return json.loads(process.communicate()[0].splitlines()[-1])


@contextmanager
def loading(
    mode: str, port: int, path: str, **options: object
) -> Iterator["subprocess.Popen[str]"]:
    arguments = [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
    command = [
        sys.executable, "-m", "benchmarks.gateway_parts.load", mode,
        f"--port={port}", f"--path={path}", f"--key={KEY}", *arguments,
    ]  # fmt: skip
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.terminate()
        process.wait(10)
        if process.stdout is not None:
            process.stdout.close()


def wait_for(port: int, process: "subprocess.Popen[bytes]") -> None:
    patience = time.monotonic() + 60
    while time.monotonic() < patience and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.02)
        else:
            return
    raise SystemExit(f"{process.args} does not listen on {port}")


def memory_mb(pid: int) -> float:
    return psutil.Process(pid).memory_info().rss / 1e6


def routes(engine_port: int, slow_engine_port: int) -> dict:
    """Return a snapshot of 200 models and 200 keys; two deployments have an engine."""
    models = {f"model{n:03}": _model(n, []) for n in range(200)}
    # Two of one engine, and a queue that never fills: a request is chosen for and counted.
    both = [{"id": f"rep0{n}", "host": "127.0.0.1", "port": engine_port} for n in (0, 2)]
    models["model000"] = _model(0, both, {"policy": "QUEUE_ON_FULL", "concurrency": 100_000})
    models["model001"] = _model(1, [{"id": "rep01", "host": "127.0.0.1", "port": slow_engine_port}])
    keys = {hashlib.sha256(f"other{n}".encode()).hexdigest(): _key(n) for n in range(200)}
    keys[hashlib.sha256(KEY.encode()).hexdigest()] = _key(999)
    return {"format": 1, "version": 1, "models": models, "keys": keys}


def _model(number: int, replicas: list, backpressure: dict | None = None) -> dict:
    deployment = {
        "name": "deployment-1", "status": "ACTIVE", "environment": "production",
        "served_model_name": "served", "predict_route": "/v1/chat/completions",
        "adapters": [], "replicas": replicas, "backpressure": backpressure,
    }  # fmt: skip
    id = f"deploy{number:02}"
    return {
        "name": f"model-{number}", "team_id": "team0000",
        "environments": {"production": id}, "deployments": {id: deployment},
    }  # fmt: skip


def _key(number: int) -> dict:
    limits = {"requests_per_minute": 100_000_000, "parallel_requests": 100_000}
    return {
        "id": f"key{number:05}", "prefix": "bench000", "scope": "invoke", "team_id": "team0000",
        "model_ids": None, "environments": None, "expires_at": None, "limits": limits,
    }  # fmt: skip


@contextmanager
def control_plane(snapshot: dict) -> Iterator[str]:
    """Serve routes and take usage, as the web process does."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None: ...

        def do_GET(self) -> None:
            current = f"after={snapshot['version']}&" in self.path
            self._answer(204 if current else 200, b"" if current else json.dumps(snapshot).encode())

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            answer = {"gateway_id": "gateway1", "credential": "secret"}
            answer["committed_offset"] = body.get("to_offset")
            self._answer(200, json.dumps(answer).encode())

        def _answer(self, status: int, content: bytes) -> None:
            self.send_response(status)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
