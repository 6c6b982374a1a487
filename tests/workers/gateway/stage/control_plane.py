"""The part of a control plane that gateways speak with."""

import json
import socket
import threading
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from controlplane.domain.wire.routes import APPLIED_HEADER, TIME_HEADER

TOKEN = "one-time-token"


class ControlPlane:
    """Speaks the part of /internal/v1 that gateways use; keeps what it is told."""

    def __init__(self) -> None:
        self.snapshot: dict[str, Any] | None = None
        self.enrolled: list[dict[str, Any]] = []
        self.applied: list[int] = []
        self.records: dict[str, dict[str, Any]] = {}
        self.batches: list[dict[str, Any]] = []
        self.loads: list[dict[str, Any]] = []
        self.samples: list[list[dict[str, Any]]] = []
        self.loses_next_usage_answer = False
        self.hears_applied = True
        """One of an earlier release does not: it is told apart."""
        self.time: float | None = None
        """What time it says it is."""
        self._committed: dict[str, int] = {}
        self._commits = threading.Lock()
        # Bound and never listening: while the plane is away its port refuses, and stays its own.
        self._kept = socket.socket()
        self._kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._kept.bind(("127.0.0.1", 0))
        host, port = self._kept.getsockname()
        self.url = f"http://{host}:{port}"
        self.come_back()

    def come_back(self) -> None:
        """Answer again, by what was told before."""
        plane = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: Any) -> None: ...

            def do_GET(self) -> None:
                plane._get(self)

            def do_POST(self) -> None:
                length = int(self.headers.get("content-length", 0))
                plane._post(self, json.loads(self.rfile.read(length)))

        self._server = ThreadingHTTPServer(self._kept.getsockname(), Handler)
        self._server.daemon_threads = False  # so that closing waits for what is being answered
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()

    def go_away(self) -> None:
        """Answer what has been asked, then refuse connections."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def close(self) -> None:
        self.go_away()
        self._kept.close()

    def closed_records(self) -> list[dict[str, Any]]:
        return [record for record in list(self.records.values()) if record["state"] == "closed"]

    def _get(self, http: BaseHTTPRequestHandler) -> None:
        url = urlsplit(http.path)
        if not self._is_known(http):
            _answer(http, 401, {"message": "unknown credential"})
            return
        assert url.path == "/internal/v1/routes"
        request = parse_qs(url.query)
        after = int(request["after"][0])
        values = {} if self.time is None else {TIME_HEADER: str(self.time)}
        if self.hears_applied and "applied" in request:
            values[APPLIED_HEADER] = request["applied"][0]
            self._note_applied(int(request["applied"][0]))
        if self.snapshot is None or self.snapshot["version"] == after:
            _answer(http, 204, None, values)
        else:
            _answer(http, 200, self.snapshot, values)

    def _post(self, http: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        path = http.path.removeprefix("/internal/v1/")
        is_enrolling = path == "gateways/enroll"
        if not (_bearer(http) == TOKEN if is_enrolling else self._is_known(http)):
            _answer(http, 401, {"message": "unknown credential"})
        elif is_enrolling:
            self.enrolled.append(body)
            _answer(http, 200, {"gateway_id": "gateway1"})
        elif path == "gateways/applied":
            self._note_applied(body["version"])
            _answer(http, 200, {})
        elif path == "gateways/load":
            self.loads.append(body)
            _answer(http, 200, {})
        elif path == "gateways/samples":
            self.samples.append(body["samples"])
            _answer(http, 200, {"orders": []})
        else:
            self._usage(http, body)

    def _note_applied(self, version: int) -> None:
        if self.applied[-1:] != [version]:
            self.applied.append(version)

    def _is_known(self, http: BaseHTTPRequestHandler) -> bool:
        digest = sha256(_bearer(http).encode()).hexdigest()
        return digest in {each["credential_sha256"] for each in self.enrolled}

    def _usage(self, http: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        with self._commits:
            committed = self._commit(body)
        if self.loses_next_usage_answer and body["records"]:
            self.loses_next_usage_answer = False
            http.close_connection = True
            return
        _answer(http, 200, {"committed_offset": committed})

    def _commit(self, body: dict[str, Any]) -> int:
        self.batches.append(body)
        committed = self._committed.get(body["journal"], 0)
        if body["from_offset"] == committed:
            for record in body["records"]:
                self.records[record["request_id"]] = record
            committed = self._committed[body["journal"]] = body["to_offset"]
        return committed


def _bearer(http: BaseHTTPRequestHandler) -> str:
    return str(http.headers["authorization"]).removeprefix("Bearer ")


def _answer(
    http: BaseHTTPRequestHandler, status: int, body: Any, headers: Mapping[str, str] | None = None
) -> None:
    content = b"" if body is None else json.dumps(body).encode()
    with suppress(OSError):  # a gateway that was killed does not wait
        http.send_response(status)
        for name, value in {"content-length": str(len(content)), **(headers or {})}.items():
            http.send_header(name, value)
        http.end_headers()
        http.wfile.write(content)
