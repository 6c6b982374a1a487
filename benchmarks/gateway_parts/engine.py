"""A mock engine: 0.7 KB JSON answers, or streams of 200-byte chunks at a given pace."""

import argparse
import asyncio
import json
import re
import time

import uvloop

TEXT = "word " * 110
ANSWER = json.dumps(
    {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "model": "served",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": TEXT},
                "finish_reason": "stop",
            }
        ],
        "usage": {"prompt_tokens": 200, "completion_tokens": 110, "total_tokens": 310},
    }
).encode()
JSON_ANSWER = (
    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ndate: Fri, 27 Nov 2026 10:00:00 GMT\r\n"
    b"server: mock\r\ncontent-length: %d\r\n\r\n%b" % (len(ANSWER), ANSWER)
)
STREAM_HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
    b"server: mock\r\ntransfer-encoding: chunked\r\n\r\n"
)
DELTA = {"index": 0, "delta": {"content": " wordy"}, "finish_reason": None}
EVENT = (
    b"data: %b\n\n"
    % json.dumps(
        {
            "id": "chatcmpl-0123456789abcdef",
            "object": "chat.completion.chunk",
            "created": 1795773600,
            "model": "served",
            "choices": [DELTA],
        }
    ).encode()
)
CHUNK = b"%x\r\n%b\r\n" % (len(EVENT), EVENT)
LAST = json.dumps({"choices": [], "usage": {"prompt_tokens": 200, "completion_tokens": 100}})
LAST_EVENT = f"data: {LAST}\n\ndata: [DONE]\n\n".encode()
END = b"%x\r\n%b\r\n0\r\n\r\n" % (len(LAST_EVENT), LAST_EVENT)
LENGTH = re.compile(rb"content-length: (\d+)", re.IGNORECASE)

lost_at: list[float] = []


class MockEngine(asyncio.Protocol):
    chunks = 100
    interval_seconds = 0.01

    def connection_made(self, transport):
        self.transport = transport
        self.pending = b""
        self.timer = None
        self.left = 0

    def connection_lost(self, error):
        if self.timer is not None:
            self.timer.cancel()
            lost_at.append(time.monotonic())

    def data_received(self, data):
        self.pending += data
        end = self.pending.find(b"\r\n\r\n")
        if end < 0:
            return
        length = LENGTH.search(self.pending, 0, end)
        total = end + 4 + (int(length[1]) if length else 0)
        if len(self.pending) < total:
            return
        request, self.pending = self.pending[:total], self.pending[total:]
        if request.startswith(b"GET /lost"):
            body = json.dumps(lost_at).encode()
            self.transport.write(
                b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(body) + body
            )
        elif b'"stream":true' in request or b'"stream": true' in request:
            self.left = self.chunks
            self.transport.write(STREAM_HEAD)
            self.timer = asyncio.get_running_loop().call_later(self.interval_seconds, self.tick)
        else:
            self.transport.write(JSON_ANSWER)

    def tick(self):
        self.timer = None
        if self.left == 0:
            self.transport.write(END)
            return
        self.left -= 1
        self.transport.write(CHUNK)
        self.timer = asyncio.get_running_loop().call_later(self.interval_seconds, self.tick)


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--chunks", type=int, default=100)
    parser.add_argument("--interval-seconds", type=float, default=0.01)
    options = parser.parse_args()
    MockEngine.chunks, MockEngine.interval_seconds = options.chunks, options.interval_seconds
    server = await asyncio.get_running_loop().create_server(
        MockEngine, "127.0.0.1", options.port, backlog=4096
    )
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(main())
