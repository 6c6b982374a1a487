#!/usr/bin/env python3
"""An engine by its looks: started as the native one is, up at once, and it counts what it is asked.

Every question is a number. `7 4242` in `begun.log` beside this file: process 4242 began question 7.
"""

import json
import os
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

TOKENS = 4
_TOKEN_SECONDS = 0.05
_LOOKS = {
    "/health": json.dumps({"status": "ready"}),
    "/info": json.dumps({"weights_bytes": 1, "kv_tokens": 2}),
    "/metrics": "engine_requests_running 0\n",
}
_USAGE = {"prompt_tokens": 2, "completion_tokens": TOKENS, "total_tokens": 2 + TOKENS}
_BEGUN = Path(__file__).with_name("begun.log")


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        looks = _LOOKS.get(self.path, "")
        self._answer(200 if looks else 404, looks.encode())

    def do_POST(self) -> None:
        content = json.loads(self.rfile.read(int(self.headers["content-length"])))
        number = content["messages"][-1]["content"]
        _note(number)
        if content.get("stream"):
            self._stream(number)
        else:
            time.sleep(TOKENS * _TOKEN_SECONDS)
            choice = {"index": 0, "message": {"role": "assistant", "content": number}}
            self._answer(200, _of({"choices": [choice], "usage": _USAGE}))

    def _stream(self, number: str) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for _ in range(TOKENS):
            time.sleep(_TOKEN_SECONDS)
            self._event(_of({"choices": [{"index": 0, "delta": {"content": number}}]}))
        self._event(_of({"choices": [], "usage": _USAGE}))
        self._event(b"[DONE]")
        self.wfile.write(b"0\r\n\r\n")

    def _event(self, data: bytes) -> None:
        event = b"data: %b\n\n" % data
        self.wfile.write(b"%x\r\n%b\r\n" % (len(event), event))

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        return


def _of(content: dict[str, Any]) -> bytes:
    return json.dumps({"id": "1", "object": "chat.completion", "model": "tiny", **content}).encode()


def _note(number: str) -> None:
    descriptor = os.open(_BEGUN, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.write(descriptor, f"{number} {os.getpid()}\n".encode())
    finally:
        os.close(descriptor)


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256


def main() -> None:
    arguments = dict(zip(sys.argv, sys.argv[1:], strict=False))
    server = Server((arguments["--host"], int(arguments["--port"])), Handler)
    server.serve_forever()


if __name__ == "__main__":
    main()
