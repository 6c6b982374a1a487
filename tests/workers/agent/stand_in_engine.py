#!/usr/bin/env python3
"""An HTTP server that looks like an engine from outside and is up in a tenth of a second.

Called as the native engine is; `--model-dir` may hold a file `misbehave` with what to do wrong.
"""

import json
import signal
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        answers = {
            "/health": json.dumps({"status": "ready"}),
            "/info": json.dumps({"weights_bytes": 1, "kv_tokens": 2}),
            "/metrics": "engine_requests_running 0\nengine_completion_tokens_total 7\n",
        }
        body = answers.get(self.path, "").encode()
        self.send_response(200 if body else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        return


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def argument(name: str) -> str:
    return sys.argv[sys.argv.index(name) + 1]


def main() -> None:
    misbehave = Path(argument("--model-dir")) / "misbehave"
    what = misbehave.read_text().strip() if misbehave.exists() else ""
    say("loading the model")
    if what == "no memory":
        sys.exit("MemoryError: cannot allocate")
    if what == "ignore SIGTERM":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    else:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    if what == "leave a child":
        subprocess.Popen(["setsid", "sleep", "600"])
    server = HTTPServer((argument("--host"), int(argument("--port"))), Handler)
    say("serving")
    server.serve_forever()


if __name__ == "__main__":
    main()
