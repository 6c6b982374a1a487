"""Measures the inference gateway against its bars, with rivals beside it in the same run.

    python benchmarks/gateway.py [--json] [--full]

The figures of requests and chunks are CPU time of the gateway's process alone, usage journal and
shipping included, and their bars ratios to the CPU time of a rival's process, in five turns of
which the median counts. Chunks come so seldom that each is one read. Without the extra `bench`
sglang-router is not there: its ratio is null, and its figures are shown as they were recorded.
"""

import json
import resource
import socket
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import report
from benchmarks.cpu_time import of_process
from benchmarks.gateway_parts import changes
from benchmarks.gateway_parts.processes import (
    KEY,
    child,
    control_plane,
    load,
    loading,
    memory_mb,
    routes,
)
from workers.runtimes.ports import free_port

HOST = "127.0.0.1"
PATH = "/m/model{:03}/environments/production/sync/v1/chat/completions"
FAST, SLOW = PATH.format(0), PATH.format(1)
DIRECT = "/v1/chat/completions"
OURS, SPLICE, ASGI, SGLANG = "gateway", "bytes_spliced", "uvicorn_and_httpx", "sglang_router"
BARS = {
    f"request_ratio_to_{SPLICE}": report.at_most(10),
    f"chunk_ratio_to_{SPLICE}": report.at_most(1.5),
    f"request_ratio_to_{ASGI}": report.at_most(0.08),
    f"request_ratio_to_{SGLANG}": report.at_most(0.6),
    "memory_mb_at_2000_streams": report.at_most(150),
    "cancel_milliseconds_max": report.at_most(50),
    "revoked_key_refused_milliseconds_max": report.at_most(1000),
    "changed_route_applied_milliseconds_max": report.at_most(1000),
}
STREAMED = (OURS, SPLICE, SGLANG)
TURNS = 5
# Source: measured in the same kind of harness, CPU time of the process alone, 2026-11-27.
RECORDED_RIVALS = {
    "sglang-router 0.3.2 (Rust)": {"us_per_request": [167, 207], "us_per_chunk": [36, 41]},
    "uvicorn + aiohttp": {"us_per_request": [347, 357], "us_per_chunk": [49, 56]},
    "Django async view + aiohttp": {"us_per_request": [1850, 2200], "us_per_chunk": [89, 93]},
}


@dataclass(frozen=True, kw_only=True)
class Side:
    """A process that stands between client and engine, ours or a rival's."""

    pid: int
    port: int
    path: str


def main() -> int:
    options = report.parser(__doc__, full="three times as long").parse_args()
    raise_open_file_limit()
    figures = report.Report(as_json=options.json)
    return figures.end(measure(3.0 if options.full else 1.0), BARS)


def measure(scale: float) -> dict[str, Any]:
    engine_port, slow_port, port = free_port(HOST), free_port(HOST), free_port(HOST)
    endless = "--chunks=100000"
    with (
        tempfile.TemporaryDirectory() as folder,
        control_plane(routes(engine_port, slow_port)) as url,
        child(*engine(engine_port), endless, port=engine_port),
        child(*engine(slow_port), endless, "--interval-seconds=0.25", port=slow_port),
        child(*gateway(port), port=port, environment=environment(url, folder)) as pid,
    ):
        with ExitStack() as rivals:
            sides = {OURS: Side(pid=pid, port=port, path=FAST), **_rivals(rivals, engine_port)}
            figures = cpu_ratios(sides, scale)
        figures |= added_latency(port, engine_port, 2 * scale)
        figures |= many_streams(pid, port, 4 * scale)
        figures |= cancel_time(port, slow_port, round(20 * scale))
        figures |= changes.applied_after(engine_port, round(10 * scale))
    figures = {name: _rounded(value) for name, value in figures.items()}
    return figures | {"rivals_recorded": RECORDED_RIVALS}


def _rivals(open_until_end: ExitStack, engine_port: int) -> dict[str, Side]:
    started = {}
    commands = {
        SPLICE: ["-m", "benchmarks.gateway_parts.rivals", "splice"],
        ASGI: ["-m", "benchmarks.gateway_parts.rivals", "asgi"],
        SGLANG: ["-m", "sglang_router.launch_router"],
    }
    if find_spec("sglang_router") is None:
        del commands[SGLANG]
    for name, command in commands.items():
        port = free_port(HOST)
        upstream = (
            f"--worker-urls=http://{HOST}:{engine_port}"
            if name == SGLANG
            else f"--upstream-port={engine_port}"
        )
        pid = open_until_end.enter_context(child(*command, f"--port={port}", upstream, port=port))
        started[name] = Side(pid=pid, port=port, path=DIRECT)
    return started


def cpu_ratios(sides: Mapping[str, Side], scale: float) -> dict[str, float | None]:
    """Return the medians over the turns: microseconds of each side, and ours by each rival's."""
    for side in sides.values():
        per_request(side, 1.0)
    requests, chunks, reads = [], [], []
    for _ in range(TURNS):
        requests.append({name: per_request(side, 0.7 * scale) for name, side in sides.items()})
        streamed = {name: streams(sides[name], scale) for name in STREAMED if name in sides}
        chunks.append({name: each[0] for name, each in streamed.items()})
        reads.append({name: each[1] for name, each in streamed.items()})
    figures: dict[str, float | None] = {f"request_ratio_to_{SGLANG}": None}
    for what, turns in (("request", requests), ("chunk", chunks)):
        for name in turns[0]:
            figures[f"cpu_microseconds_per_{what}_{name}"] = _median(turns, name)
            if name != OURS:
                ratios = [turn[OURS] / turn[name] for turn in turns]
                figures[f"{what}_ratio_to_{name}"] = statistics.median(ratios)
    figures["requests_per_second_per_core"] = 1e6 / _median(requests, OURS)
    for name in (OURS, SPLICE):
        figures[f"chunks_a_read_of_the_client_{name}"] = _median(reads, name)
    return figures


def per_request(side: Side, seconds: float) -> float:
    """Return microseconds of CPU."""
    before = of_process(side.pid)
    result = load("closed", side.port, side.path, seconds=seconds, connections=32)
    return 1e6 * (of_process(side.pid) - before) / result["requests"]


def streams(side: Side, seconds: float) -> tuple[float, float]:
    """Return microseconds of CPU a chunk, and how many chunks the client got in one read."""
    with loading("streams", side.port, side.path, connections=20, seconds=seconds) as client:
        assert client.stdout is not None
        client.stdout.readline()
        before = of_process(side.pid)
        result = json.loads(client.stdout.readline())
        spent = of_process(side.pid) - before
    return 1e6 * spent / result["chunks"], result["chunks"] / result["reads"]


def _median(turns: list[dict[str, float]], name: str) -> float:
    return statistics.median(turn[name] for turn in turns)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def added_latency(port: int, engine_port: int, seconds: float) -> dict[str, float]:
    """Direct and through the gateway in turns, so that a noisy neighbour meets both."""
    direct, through = [], []
    for _ in range(2):
        direct.append(load("paced", engine_port, DIRECT, seconds=seconds / 2))
        through.append(load("paced", port, FAST, seconds=seconds / 2))
    p50 = [min(run["p50_seconds"] for run in runs) * 1e3 for runs in (direct, through)]
    p99 = [min(run["p99_seconds"] for run in runs) * 1e3 for runs in (direct, through)]
    return {
        "direct_p50_milliseconds_at_1000_per_second": p50[0],
        "added_p50_milliseconds_at_1000_per_second": p50[1] - p50[0],
        "added_p99_milliseconds_at_1000_per_second": p99[1] - p99[0],
    }


def many_streams(pid: int, port: int, seconds: float) -> dict[str, float]:
    idle = memory_mb(pid)
    with loading("streams", port, SLOW, connections=2000, seconds=seconds) as client:
        assert client.stdout is not None
        client.stdout.readline()
        before, started = of_process(pid), time.monotonic()
        time.sleep(seconds * 0.75)
        memory, spent = memory_mb(pid), of_process(pid) - before
        elapsed = time.monotonic() - started
        result = json.loads(client.stdout.readline())
    assert result["lost"] == 0
    return {
        "memory_mb_idle": idle,
        "memory_mb_at_2000_streams": memory,
        "cpu_percent_of_a_core_at_2000_streams": 100 * spent / elapsed,
    }


def cancel_time(port: int, engine_port: int, times: int) -> dict[str, float]:
    """Leave a stream at its first byte; the engine says when it lost the connection."""
    left_at = []
    seen = settled(engine_port)
    for _ in range(times):
        with socket.create_connection((HOST, port)) as client:
            client.sendall(stream_request())
            client.recv(65536)
            left_at.append(time.monotonic())
        time.sleep(0.02)
    time.sleep(0.2)
    delays = [
        (lost - left) * 1e3 for lost, left in zip(lost_at(engine_port)[seen:], left_at, strict=True)
    ]
    return {
        "cancel_milliseconds_p50": statistics.median(delays),
        "cancel_milliseconds_max": max(delays),
    }


def settled(engine_port: int) -> int:
    """Return how many connections the engine has lost once the last streams are gone."""
    seen = -1
    while seen != (seen := len(lost_at(engine_port))):
        time.sleep(0.5)
    return seen


def engine(port: int) -> list[str]:
    return ["-m", "benchmarks.gateway_parts.engine", f"--port={port}"]


def gateway(port: int) -> list[str]:
    return ["-m", "workers.gateway", f"--port={port}"]


def environment(url: str, folder: str) -> dict[str, str]:
    return {
        "CONTROL_PLANE_URL": url,
        "DATA_DIR": folder,
        "ENROLLMENT_TOKEN": "token",
        "LOG_LEVEL": "WARNING",
        "BROKER_URL": "",
        "LISTEN_FDS": "",
    }


def stream_request() -> bytes:
    body = b'{"model":"served","messages":[],"stream":true}'
    head = f"POST {SLOW} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {KEY}\r\n"
    return f"{head}content-length: {len(body)}\r\n\r\n".encode() + body


def lost_at(engine_port: int) -> list[float]:
    with socket.create_connection((HOST, engine_port)) as connection:
        connection.sendall(b"GET /lost HTTP/1.1\r\n\r\n")
        answer = b""
        while not answer.endswith(b"]"):
            answer += connection.recv(1 << 20)
    return list(json.loads(answer.split(b"\r\n\r\n", 1)[1]))


def raise_open_file_limit() -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


if __name__ == "__main__":
    raise SystemExit(main())
