#!/usr/bin/env python3
"""Looks like an interpreter that has vLLM 0.25.1, for rehearsals and tests without a GPU.

`-c …` prints the version; `-m vllm.entrypoints.cli.main serve …` says vLLM's lines, then streams
counted words at vLLM's addresses. With `--runner pooling` it has the routes that vLLM has for the
class that the checkpoint's config.json names, and answers in the shapes that were recorded on an
H200 (`benchmarks/results/{embedder,reranker,classifier}-h200-2026-11-29.json`); others are 404.
Source of the routes: vLLM `entrypoints/pooling/factories.py`, read 2026-11-30.
"""

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

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
            "/v1/models": json.dumps(
                {
                    "object": "list",
                    "data": [
                        {"id": name, "object": "model", "created": 1, "owned_by": "vllm"}
                        for name in (argument("--served-model-name"), *adapters())
                    ],
                }
            ),
        }
        body = pages.get(self.path, "").encode()
        self._answer(200 if body else 404, body)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path not in routes():
            self._answer(404, json.dumps({"detail": "Not Found"}).encode())
            return
        if is_pooling():
            self._pool(body)
            return
        if "response_format" in body or not body.get("stream"):
            choice = {"index": 0, "finish_reason": "stop", "text": "Paris", "message": said(body)}
            head = {"id": "said-1", "object": "chat.completion", "created": 1, "model": "any"}
            values = {**head, "choices": [choice], "usage": usage(1)}
            self._answer(200, json.dumps(values).encode())
            return
        RUNNING[0] += 1
        try:
            if body.get("return_token_ids"):
                self._stream_tokens(body)
            else:
                self._stream(int(body.get("max_tokens", 16)), str(body.get("model")))
        except OSError:
            pass  # the client hung up
        finally:
            RUNNING[0] -= 1

    def _pool(self, body: dict[str, Any]) -> None:
        missing = [name for name in FIELDS[self.path] if name not in body]
        if missing:
            error = {"message": f"{missing[0]}: Field required", "type": "Bad Request", "code": 400}
            self._answer(400, json.dumps({"error": error}).encode())
            return
        self._answer(200, json.dumps(pooled(self.path, body)).encode())

    def _stream(self, tokens: int, model: str) -> None:
        word = model if model in adapters() else ""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        for number in range(min(tokens, 800)):
            MADE[0] += 1
            self._event({"choices": [{"index": 0, "delta": {"content": f"{word}{number} "}}]})
            time.sleep(0.002)
        self._event({"choices": [], "usage": usage(tokens)})
        self.wfile.write(b"data: [DONE]\n\n")

    def _stream_tokens(self, body: dict[str, Any]) -> None:
        """Stream the answer that `lookahead.sh` recorded for a prompt, sixteen tokens a piece."""
        pairs = json.loads(Path(os.environ["FORCED_ANSWERS"]).read_text())
        answer = next((each for prompt, each in pairs if prompt == body["prompt"]), [7] * 9999)
        answer = answer[: body["max_tokens"]]
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for start in range(0, len(answer), 16):
            self._event({"choices": [{"index": 0, "token_ids": answer[start : start + 16]}]})
            time.sleep(0.001)
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


def adapters() -> list[str]:
    """Names of `--lora-modules`, by which a request chooses one."""
    if "--lora-modules" not in sys.argv:
        return []
    words = sys.argv[sys.argv.index("--lora-modules") + 1 :]
    count = next((n for n, word in enumerate(words) if word.startswith("--")), len(words))
    return [json.loads(word)["name"] if word[0] == "{" else word.partition("=")[0]
            for word in words[:count]]  # fmt: skip


def said(body: dict[str, Any]) -> dict[str, Any]:
    """What the model says: a call where it has tools, else the least that a schema allows."""
    if body.get("tools"):
        function = body["tools"][0]["function"]
        arguments = json.dumps(least(function["parameters"]))
        called = {"name": function["name"], "arguments": arguments}
        call = {"id": "call-1", "type": "function", "function": called}
        return {"role": "assistant", "content": None, "tool_calls": [call]}
    schema = body.get("response_format", {}).get("json_schema", {}).get("schema")
    target = schema or {"properties": {"city": {"const": "Paris"}, "people": {"const": 2}}}
    return {"role": "assistant", "content": json.dumps(least(target))}


def least(schema: dict[str, Any]) -> Any:
    """Return a small value of a schema of the kinds that the clients ask for."""
    if "const" in schema:
        return schema["const"]
    if "properties" in schema:
        return {name: least(each) for name, each in schema["properties"].items()}
    return 2 if schema.get("type") == "integer" else "a"


def is_pooling() -> bool:
    return "--runner" in sys.argv and argument("--runner") == "pooling"


TEXT = ("/v1/chat/completions", "/v1/completions")
SCORING = ("/score", "/v1/score", "/rerank", "/v1/rerank", "/v2/rerank")
FIELDS: dict[str, tuple[str, ...]] = {
    "/v1/embeddings": ("input",),
    "/classify": ("input",),
    "/pooling": ("input",),
    **dict.fromkeys(SCORING[:2], ("text_1", "text_2")),
    **dict.fromkeys(SCORING[2:], ("query", "documents")),
}
"""Of each pooling route, the fields without which vLLM refuses a body."""


def routes() -> tuple[str, ...]:
    """vLLM registers a route only where a task of the model needs it."""
    if not is_pooling():
        return TEXT
    if architecture().endswith("ForTokenClassification"):
        return ("/pooling",)
    if not architecture().endswith("ForSequenceClassification"):
        return ("/pooling", "/v1/embeddings", *SCORING)
    return ("/pooling", "/classify", *(SCORING if len(labels()) == 1 else ()))


def config() -> dict[str, Any]:
    content: dict[str, Any] = json.loads((Path(argument("serve")) / "config.json").read_text())
    return content


def architecture() -> str:
    return str(config()["architectures"][0])


def labels() -> list[str]:
    """Labels by their numbers; two where config.json names none, as Transformers has it."""
    named = config().get("id2label") or {"0": "LABEL_0", "1": "LABEL_1"}
    return [named[str(number)] for number in range(len(named))]


def pooled(route: str, body: dict[str, Any]) -> dict[str, Any]:
    """What a route of the pooling runner answers, in the shape that was recorded."""
    texts = body.get("input") or body.get("documents") or body.get("text_2") or []
    texts = [texts] if isinstance(texts, str) else texts
    values = {**usage(0), "prompt_tokens_details": None}
    name = argument("--served-model-name")
    head = {"id": "pooled-1", "object": "list", "created": 1, "model": name}
    numbered = list(enumerate(texts))
    if route.endswith("/rerank"):
        results = [
            {"index": n, "document": {"text": text, "multi_modal": None},
             "relevance_score": 0.9 - 0.5 * n}
            for n, text in numbered
        ]  # fmt: skip
        return {
            "id": head["id"],
            "model": name,
            "usage": {"prompt_tokens": 1, "total_tokens": 1},
            "results": results,
        }
    data = [{"index": n, **outcome(route, n)} for n, _ in numbered]
    return {**head, "data": data, "usage": values}


def outcome(route: str, number: int) -> dict[str, Any]:
    if route == "/v1/embeddings":
        return {"object": "embedding", "embedding": [1.0, 0.1 * number]}
    if route.endswith("/score"):
        return {"object": "score", "score": 0.9 - 0.5 * number}
    names = labels()
    probs = [1 / 2 ** (len(names) - n) for n in range(1, len(names))]
    probs = [1 - sum(probs), *probs]
    if route == "/classify":
        best = names[probs.index(max(probs))]
        return {"label": best, "probs": probs, "num_classes": len(names)}
    return {"object": "pooling", "data": [probs, probs]}


def usage(tokens: int) -> dict[str, int]:
    return {"prompt_tokens": 1, "completion_tokens": tokens, "total_tokens": tokens + 1}


def argument(name: str) -> str:
    return sys.argv[sys.argv.index(name) + 1]


def hold_devices() -> None:
    """Hold memory of each GPU, of further ones by a process each, with whose end all ends."""
    rehearsed = Path(tempfile.gettempdir()) / "rehearsed-device"
    if not rehearsed.is_dir():
        return
    first, *others = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")
    (rehearsed / str(os.getpid())).write_text(f"{HOLDS_BYTES} {first}")
    for each in others:
        rank = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()", "rank"],
                                stdin=subprocess.PIPE)  # fmt: skip
        (rehearsed / str(rank.pid)).write_text(f"{HOLDS_BYTES} {each}")
        threading.Thread(target=lambda rank=rank: os._exit(1 if rank.wait() else 0)).start()


def main() -> None:
    if "-c" in sys.argv:
        sys.stdout.write("0.25.1\n")
        return
    hold_devices()
    lines = ("Model loading took 0.13 GiB memory and 1.0 seconds",
             "Available KV cache memory: 66.02 GiB",
             "GPU KV cache size: 3,076,000 tokens")  # fmt: skip
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()
    address = (argument("--host"), int(argument("--port")))
    Server(address, Handler).serve_forever()


if __name__ == "__main__":
    main()
