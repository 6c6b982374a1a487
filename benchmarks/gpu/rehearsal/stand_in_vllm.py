#!/usr/bin/env python3
"""Looks like an interpreter that has vLLM 0.25.1, for rehearsals and tests without a GPU.

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
        if is_pooling():
            self._pool(body)
            return
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

    def _pool(self, body: dict[str, object]) -> None:
        found = pooled(body).get(self.path)
        self._answer(200 if found else 404, json.dumps(found or {}).encode())

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


def is_pooling() -> bool:
    """vLLM's pooling runner has no route that writes text."""
    return "--runner" in sys.argv and argument("--runner") == "pooling"


def pooled(body: dict[str, object]) -> dict[str, dict[str, object]]:
    """Return what each route of the pooling runner answers, in vLLM's shapes."""
    texts = body.get("input") or body.get("documents") or []
    numbers = range(len(texts) if isinstance(texts, list) else 1)
    return {
        "/v1/embeddings": {"data": [{"index": n, "embedding": [1.0, 0.1 * n]} for n in numbers]},
        "/classify": {
            "data": [
                {"index": n, "label": "LABEL_1", "probs": [0.25, 0.75], "num_classes": 2}
                for n in numbers
            ]
        },
        "/rerank": {"results": [{"index": n, "relevance_score": 0.9 - 0.5 * n} for n in numbers]},
        "/pooling": {"data": [{"index": n, "data": [[0.1, 0.9], [0.8, 0.2]]} for n in numbers]},
    }


def usage(tokens: int) -> dict[str, int]:
    return {"prompt_tokens": 1, "completion_tokens": tokens, "total_tokens": tokens + 1}


def argument(name: str) -> str:
    return sys.argv[sys.argv.index(name) + 1]


def main() -> None:
    if "-c" in sys.argv:
        sys.stdout.write("0.25.1\n")
        return
    rehearsed = Path(tempfile.gettempdir()) / "rehearsed-device"
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
