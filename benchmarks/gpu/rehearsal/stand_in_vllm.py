#!/usr/bin/env python3
"""Looks like an interpreter that has vLLM 0.25.1, for rehearsals and tests without a card.

`-c …` prints the version; `-m vllm.entrypoints.cli.main serve …` says vLLM's lines, then streams
counted words at vLLM's addresses.
"""

import json
import os
import sys
import tempfile
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

HOLDS_BYTES = 66 * 1024**3

RUNNING = [0]
MADE = [0]


class Server(ThreadingHTTPServer):
    request_queue_size = 256  # 64 streams connect in one moment


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        pages = {
            "/health": "ok",
            "/version": json.dumps({"version": "0.25.1"}),
            "/metrics": 'vllm:cache_config_info{block_size="16",num_gpu_blocks="64"} 1.0\n'
            f"vllm:num_requests_running {RUNNING[0]}.0\nvllm:generation_tokens_total {MADE[0]}\n",
            "/v1/models": json.dumps({"data": [{"id": argument("--served-model-name")}]}),
        }
        body = pages.get(self.path, "").encode()
        self._answer(200 if body else 404, body)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if "response_format" in body or not body.get("stream"):
            message = {"role": "assistant", "content": '{"city": "Paris", "people": 2}'}
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            self._answer(200, json.dumps({"choices": [choice], "usage": usage(1)}).encode())
            return
        RUNNING[0] += 1
        try:
            self._stream(int(body["max_tokens"]))
        except OSError:
            pass  # the client hung up
        finally:
            RUNNING[0] -= 1

    def _stream(self, tokens: int) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        for number in range(min(tokens, 400)):
            MADE[0] += 1
            self._event({"choices": [{"index": 0, "delta": {"content": f"{number} "}}]})
            time.sleep(0.002)
        self._event({"choices": [], "usage": usage(tokens)})
        self.wfile.write(b"data: [DONE]\n\n")

    def _event(self, content: dict[str, object]) -> None:
        self.wfile.write(b"data: " + json.dumps(content).encode() + b"\n\n")
        self.wfile.flush()

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        return


def usage(tokens: int) -> dict[str, int]:
    return {"prompt_tokens": 1, "completion_tokens": tokens, "total_tokens": tokens + 1}


def argument(name: str) -> str:
    return sys.argv[sys.argv.index(name) + 1]


def main() -> None:
    if "-c" in sys.argv:
        sys.stdout.write("0.25.1\n")
        return
    rehearsed = Path(tempfile.gettempdir()) / "rehearsed-card"
    if rehearsed.is_dir():
        (rehearsed / str(os.getpid())).write_text(str(HOLDS_BYTES))
    lines = ("Model loading took 0.13 GiB memory and 1.0 seconds",
             "Available KV cache memory: 66.02 GiB",
             "GPU KV cache size: 3,076,000 tokens")  # fmt: skip
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()
    address = (argument("--host"), int(argument("--port")))
    Server(address, Handler).serve_forever()


if __name__ == "__main__":
    main()
