"""What is asked of a server: as fast as it answers, one at a time, and at a steady rate."""

import asyncio
import gc
import json
import time
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import uvloop
from baseten_performance_client import PerformanceClient, RequestProcessingPreference

from benchmarks.encoders_parts.servers import Server
from benchmarks.report import percentile

_SETTLE_SECONDS = 0.3


def embeddings(
    server: Server, texts: Sequence[str], *, batch: int, in_flight: int
) -> Mapping[str, float]:
    """Ask for vectors by the performance client; give back its rate."""
    client = PerformanceClient(base_url=server.url, api_key=server.key)
    how = RequestProcessingPreference(
        batch_size=batch, max_concurrent_requests=in_flight, timeout_s=120.0
    )
    outcome = client.embed(input=list(texts), model="served", preference=how)
    return _rate(outcome.total_time, len(outcome.data), batch, outcome.individual_request_times)


def posted(
    server: Server,
    path: str,
    bodies: Sequence[Mapping[str, Any]],
    *,
    in_flight: int,
    texts: int = 1,
) -> Mapping[str, float]:
    """Post bodies of so many texts by the performance client; give back its rate."""
    client = PerformanceClient(base_url=server.url, api_key=server.key)
    how = RequestProcessingPreference(max_concurrent_requests=in_flight, timeout_s=120.0)
    outcome = client.batch_post(url_path=path, payloads=list(bodies), preference=how)
    return _rate(outcome.total_time, texts * len(bodies), texts, outcome.individual_request_times)


def alone(server: Server, path: str, bodies: Sequence[Mapping[str, Any]]) -> Mapping[str, float]:
    """Ask one at a time; give back latencies in milliseconds."""
    return _latencies(uvloop.run(_Asker(server, path, bodies).one_by_one()))


def paced(
    server: Server, path: str, bodies: Sequence[Mapping[str, Any]], *, rate: float
) -> Mapping[str, float]:
    """Ask at a steady rate, whatever comes; give back latencies from when each was due."""
    latencies = _latencies(uvloop.run(_Asker(server, path, bodies).paced(rate)))
    return {"rate_per_second": round(rate, 1), **latencies}


def _rate(seconds: float, texts: int, batch: int, times: Sequence[float]) -> Mapping[str, float]:
    return {
        "texts_per_second": round(texts / seconds, 1),
        "requests_per_second": round(texts / batch / seconds, 1),
        "p50_milliseconds": round(1e3 * percentile(list(times), 0.5), 2),
        "p99_milliseconds": round(1e3 * percentile(list(times), 0.99), 2),
    }


def _latencies(seconds: Sequence[float]) -> Mapping[str, float]:
    return {
        f"p{share}_milliseconds": round(1e3 * percentile(list(seconds), share / 100), 2)
        for share in (50, 90, 99)
    }


class _Asker:
    """A client with as many connections as it needs."""

    def __init__(self, server: Server, path: str, bodies: Sequence[Mapping[str, Any]]) -> None:
        self._parts = urlsplit(server.url)
        self._requests = [self._written(server, path, body) for body in bodies]
        self._idle: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []
        gc.collect()
        gc.freeze()  # torch made the checkpoints here: looking through it would count as waiting

    async def one_by_one(self) -> list[float]:
        entries = []
        for request in self._requests:
            began = time.perf_counter()
            await self._ask(request)
            entries.append(time.perf_counter() - began)
        return entries[len(entries) // 10 :]

    async def paced(self, rate: float) -> list[float]:
        began = time.perf_counter() + _SETTLE_SECONDS

        async def ask(number: int, request: bytes) -> float:
            due = began + number / rate
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            await self._ask(request)
            return time.perf_counter() - due

        answers = [ask(number, request) for number, request in enumerate(self._requests)]
        gather = await asyncio.gather(*answers)
        return gather[len(gather) // 10 :]

    def _written(self, server: Server, path: str, body: Mapping[str, Any]) -> bytes:
        content = json.dumps(body).encode()
        lines = [f"POST {self._parts.path}{path} HTTP/1.1", f"Host: {self._parts.netloc}",
                 f"Authorization: Bearer {server.key}", "Content-Type: application/json",
                 f"Content-Length: {len(content)}"]  # fmt: skip
        return "\r\n".join([*lines, "", ""]).encode() + content

    async def _ask(self, request: bytes) -> None:
        if self._idle:
            reader, writer = self._idle.pop()
        else:
            host, port = self._parts.hostname, self._parts.port
            reader, writer = await asyncio.open_connection(host, port, limit=1 << 24)
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(head.decode(errors="replace"))
        _, _, length = head.lower().partition(b"content-length:")
        await reader.readexactly(int(length.split(b"\r\n")[0]))
        self._idle.append((reader, writer))
