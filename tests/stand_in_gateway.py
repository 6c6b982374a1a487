"""A gateway and engine in one, for benchmarks: streams ten tokens, or does what it is told.

No speed is asserted of it; it counts who asked with what.
"""

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


class StandInGateway:
    """Answers each request with ten tokens; `status_of` may refuse, and may block."""

    def __init__(self) -> None:
        self.headers: list[dict[str, str]] = []
        self.status_of: Callable[[int], int] = lambda number: 200
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def count(self) -> int:
        return len(self.headers)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        gateway = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["content-length"]))
                with gateway._lock:
                    gateway.headers.append({k.lower(): v for k, v in self.headers.items()})
                    number = len(gateway.headers)
                status = gateway.status_of(number)
                if status == 200:
                    self._stream()
                else:
                    self._whole(status, {"message": f"refused {status}"})

            def _stream(self) -> None:
                word = {"choices": [{"delta": {"content": "Hi"}}]}
                usage = {"usage": {"prompt_tokens": 20, "completion_tokens": 10}}
                events = [f"data: {json.dumps(each)}\n\n" for each in (word, usage)]
                self._whole(200, "".join([*events, "data: [DONE]\n\n"]))

            def _whole(self, status: int, content: Any) -> None:
                text = content if isinstance(content, str) else json.dumps(content)
                self.send_response(status)
                self.send_header("content-length", str(len(text)))
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, *_said: object) -> None:
                pass

        return Handler
