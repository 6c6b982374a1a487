"""Answers and logs as `trtllm-serve` does, to rehearse the script around it without a GPU."""

import json
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

LOG = """\
Memory used after loading model weights (inside torch) in memory usage profiling: 8.50 GiB
Peak memory during memory usage profiling (torch + non-torch): 10.00 GiB, available KV cache \
memory when calculating max tokens: 60.00 GiB, fraction is set 0.9, kv size is 65536. device \
total memory 79.11 GiB, , tmp kv_mem 0.13 GiB
"""
METRICS = 'trtllm_request_success_total{model_name="undefined",finished_reason="length"} 4\n'
PAGES = {"/health": "", "/version": '{"version": "1.2.1"}', "/prometheus/metrics": METRICS,
         "/metrics": "[]"}  # fmt: skip


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self._answer(PAGES.get(self.path))

    def do_POST(self) -> None:
        content = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if content.get("stream"):
            usage = json.dumps({"choices": [], "usage": {"completion_tokens": 4}})
            self._answer(f"data: {usage} \n\ndata: [DONE]\n\n")
        else:
            self._answer(json.dumps(_completion(content)))

    def _answer(self, body: str | None) -> None:
        self.send_response(404 if body is None else 200)
        content = (body or "").encode()
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


def _completion(asked: dict[str, Any]) -> dict[str, Any]:
    text = '{"colours": ["red"]}' if "response_format" in asked else "Red, from a stand-in."
    choice = {"message": {"content": text}} if "messages" in asked else {"text": text}
    return {"choices": [choice], "usage": {"completion_tokens": asked["max_tokens"]}}


if __name__ == "__main__":
    sys.stderr.write(LOG)
    sys.stderr.flush()
    port = int(sys.argv[sys.argv.index("--port") + 1])
    HTTPServer(("127.0.0.1", port), Handler).serve_forever()
