"""A load client of its own process: closed loop, paced, or streams. Prints one JSON object."""

import argparse
import asyncio
import json
import re
import statistics
import time

import uvloop

LENGTH = re.compile(rb"content-length: (\d+)", re.IGNORECASE)
BEGUN_SECONDS = 0.3
MESSAGES = [{"role": "user", "content": "Say it again. " * 60}]


def request(options: argparse.Namespace, *, stream: bool) -> bytes:
    """Return a request of about 1 KB with the headers that an SDK sends."""
    body = {"model": "served", "messages": MESSAGES, "max_tokens": 100}
    if stream:
        body["stream"] = True
    content = json.dumps(body, separators=(",", ":")).encode()
    head = (
        f"POST {options.path} HTTP/1.1\r\nhost: 127.0.0.1:{options.port}\r\n"
        f"authorization: Bearer {options.key}\r\naccept: application/json\r\n"
        "accept-encoding: gzip, deflate\r\nuser-agent: OpenAI/Python 3.57.0\r\n"
        "x-stainless-lang: python\r\nx-stainless-arch: x64\r\n"
        f"content-type: application/json\r\ncontent-length: {len(content)}\r\n\r\n"
    )
    return head.encode() + content


class Loop(asyncio.Protocol):
    """Sends a request when told to, counts answers and their latency."""

    def __init__(self, content: bytes, results: dict, *, repeats: bool) -> None:
        self.content, self.results, self.repeats = content, results, repeats
        self.pending = b""
        self.busy = False

    def connection_made(self, transport):
        self.transport = transport
        if self.repeats:
            self.ask(time.perf_counter())

    def ask(self, due):
        self.busy, self.started = True, due
        self.transport.write(self.content)

    def data_received(self, data):
        self.pending += data
        end = self.pending.find(b"\r\n\r\n")
        if end < 0 or len(self.pending) < end + 4 + int(LENGTH.search(self.pending)[1]):
            return
        if not self.pending.startswith(b"HTTP/1.1 200"):
            raise SystemExit(self.pending[:300].decode())
        self.pending = b""
        self.busy = False
        self.results["latencies"].append(time.perf_counter() - self.started)
        if self.repeats:
            self.ask(time.perf_counter())


class Stream(asyncio.Protocol):
    def __init__(self, content: bytes, results: dict) -> None:
        self.content, self.results = content, results

    def connection_made(self, transport):
        self.transport = transport
        transport.write(self.content)

    def data_received(self, data):
        chunks = data.count(b"chat.completion.chunk")
        self.results["chunks"] += chunks
        self.results["reads"] += chunks > 0
        if b"data: [DONE]" in data:
            self.transport.write(self.content)

    def connection_lost(self, error):
        self.results["lost"] += 1


async def closed_loop(options) -> dict:
    results, content = {"latencies": []}, request(options, stream=False)
    clients = [Loop(content, results, repeats=True) for _ in range(options.connections)]
    await connect(options, clients)
    await asyncio.sleep(options.seconds)
    return summary(results["latencies"])


async def paced(options) -> dict:
    results, content = {"latencies": []}, request(options, stream=False)
    clients = [Loop(content, results, repeats=False) for _ in range(options.connections)]
    await connect(options, clients)
    start, sent, late = time.perf_counter(), 0, 0
    while (now := time.perf_counter()) - start < options.seconds:
        while sent < (now - start) * options.rate:
            idle = next((client for client in clients if not client.busy), None)
            if idle is None:
                late += 1
                break
            idle.ask(time.perf_counter())
            sent += 1
        await asyncio.sleep(0.0005)
    return summary(results["latencies"]) | {"late": late}


async def streams(options) -> dict:
    results, content = {"chunks": 0, "reads": 0, "lost": 0}, request(options, stream=True)
    clients = [Stream(content, results) for _ in range(options.connections)]
    await connect(options, clients)
    await asyncio.sleep(BEGUN_SECONDS)
    # From here on there are chunks alone; whoever measures begins at this word.
    results |= {"chunks": 0, "reads": 0}
    print("connected", flush=True)
    await asyncio.sleep(options.seconds)
    return results


async def connect(options, clients) -> None:
    loop = asyncio.get_running_loop()
    for client in clients:
        await loop.create_connection(lambda client=client: client, "127.0.0.1", options.port)


def summary(latencies: list[float]) -> dict:
    cuts = statistics.quantiles(latencies, n=100)
    return {
        "requests": len(latencies),
        "p50_seconds": cuts[49],
        "p99_seconds": cuts[98],
    }


MODES = {"closed": closed_loop, "paced": paced, "streams": streams}

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("mode", choices=MODES)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--path", required=True)
    parser.add_argument("--key", default="none")
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--rate", type=float, default=1000.0)
    chosen = parser.parse_args()
    print(json.dumps(uvloop.run(MODES[chosen.mode](chosen))))
