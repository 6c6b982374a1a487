"""The part of a control plane that gateways speak with."""

import json
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

TOKEN = "one-time-token"
CREDENTIAL = "gateway-credential"


class ControlPlane:
    """Speaks the part of /internal/v1 that gateways use; keeps what it is told."""

    def __init__(self, port: int = 0) -> None:
        self.snapshot: dict[str, Any] | None = None
        self.enrolled: list[dict[str, Any]] = []
        self.applied: list[int] = []
        self.committed: dict[str, int] = {}
        self.records: dict[str, dict[str, Any]] = {}
        self.batches: list[dict[str, Any]] = []
        self.loses_next_usage_answer = False
        plane = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: Any) -> None: ...

            def do_GET(self) -> None:
                plane._get(self)

            def do_POST(self) -> None:
                length = int(self.headers.get("content-length", 0))
                plane._post(self, json.loads(self.rfile.read(length)))

        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def closed_records(self) -> list[dict[str, Any]]:
        return [record for record in list(self.records.values()) if record["state"] == "closed"]

    def _get(self, http: BaseHTTPRequestHandler) -> None:
        url = urlsplit(http.path)
        if http.headers["authorization"] != f"Bearer {CREDENTIAL}":
            _answer(http, 401, {"message": "unknown credential"})
            return
        assert url.path == "/internal/v1/routes"
        after = int(parse_qs(url.query)["after"][0])
        if self.snapshot is None or self.snapshot["version"] == after:
            _answer(http, 204, None)
        else:
            _answer(http, 200, self.snapshot)

    def _post(self, http: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        path = http.path.removeprefix("/internal/v1/")
        bearer = TOKEN if path == "gateways/enroll" else CREDENTIAL
        if http.headers["authorization"] != f"Bearer {bearer}":
            _answer(http, 401, {"message": "unknown credential"})
        elif path == "gateways/enroll":
            self.enrolled.append(body)
            _answer(http, 200, {"gateway_id": "gateway1", "credential": CREDENTIAL})
        elif path == "gateways/applied":
            self.applied.append(body["version"])
            _answer(http, 200, {})
        else:
            self._usage(http, body)

    def _usage(self, http: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        self.batches.append(body)
        committed = self.committed.get(body["journal"], 0)
        if body["from_offset"] == committed:
            for record in body["records"]:
                self.records[record["request_id"]] = record
            committed = self.committed[body["journal"]] = body["to_offset"]
        if self.loses_next_usage_answer and body["records"]:
            self.loses_next_usage_answer = False
            http.close_connection = True
            return
        _answer(http, 200, {"committed_offset": committed})


def _answer(http: BaseHTTPRequestHandler, status: int, body: Any) -> None:
    content = b"" if body is None else json.dumps(body).encode()
    with suppress(OSError):  # a gateway that was killed does not wait
        http.send_response(status)
        http.send_header("content-length", str(len(content)))
        http.end_headers()
        http.wfile.write(content)
