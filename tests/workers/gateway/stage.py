"""The gateway's real neighbours for tests: a control plane over HTTP and engines over sockets."""

import hashlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

ROOT = Path(__file__).resolve().parents[3]
KEY = "tested00.0123456789abcdef"
METRICS_KEY = "metric00.0123456789abcdef"
FOREIGN_KEY = "foreign0.0123456789abcdef"
FOREIGN_METRICS_KEY = "forme000.0123456789abcdef"
STAGING_KEY = "staging0.0123456789abcdef"
EXPIRED_KEY = "expired0.0123456789abcdef"
TOKEN = "one-time-token"
CREDENTIAL = "gateway-credential"
CHAT = "/m/modelaaa/environments/production/sync/v1/chat/completions"


def until(condition: Callable[[], Any], seconds: float = 10.0) -> Any:
    """Return the first true value of `condition`."""
    patience = time.monotonic() + seconds
    while time.monotonic() < patience:
        if value := condition():
            return value
        time.sleep(0.005)
    raise AssertionError("it did not become true in time")


def digest(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()


def key_row(id: str, **changes: Any) -> dict[str, Any]:
    return {
        "id": id,
        "prefix": id,
        "scope": "invoke",
        "team_id": "teamaaaa",
        "model_ids": None,
        "environments": None,
        "expires_at": None,
        "limits": {"requests_per_minute": None, "parallel_requests": None},
    } | changes


def deployment_row(*ports: int, **changes: Any) -> dict[str, Any]:
    replicas = [{"id": f"rep{n:02}", "host": "127.0.0.1", "port": p} for n, p in enumerate(ports)]
    return {
        "name": "deployment-1",
        "status": "ACTIVE",
        "environment": "production",
        "served_model_name": "served",
        "predict_route": "/v1/chat/completions",
        "adapters": ["polite"],
        "replicas": replicas,
    } | changes


def routes(*ports: int, version: int = 1, **changes: Any) -> dict[str, Any]:
    return {
        "format": 1,
        "version": version,
        "models": {
            "modelaaa": {
                "name": "answers",
                "team_id": "teamaaaa",
                "environments": {"production": "deploy01"},
                "deployments": {
                    "deploy01": deployment_row(*ports, **changes),
                    "sleeping": deployment_row(status="SCALED_TO_ZERO", environment=None),
                    "stopped0": deployment_row(status="INACTIVE", environment=None),
                },
            },
            "modelbbb": {
                "name": "foreign",
                "team_id": "teambbbb",
                "environments": {"production": "deploy02"},
                "deployments": {"deploy02": deployment_row(*ports)},
            },
        },
        "keys": {
            digest(KEY): key_row("keyaaaaa"),
            digest(METRICS_KEY): key_row("keymetri", scope="metrics"),
            digest(FOREIGN_METRICS_KEY): key_row("keyforme", scope="metrics", team_id="teambbbb"),
            digest(FOREIGN_KEY): key_row("keybbbbb", team_id="teambbbb"),
            digest(STAGING_KEY): key_row("keystagi", environments=["staging"]),
            digest(EXPIRED_KEY): key_row("keyexpir", expires_at=1.0),
        },
    }


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


class Call:
    """One request at an engine, with its connection to answer on."""

    def __init__(self, connection: socket.socket, head: bytes, body: bytes, number: int) -> None:
        self.connection, self.head, self.body = connection, head, body
        self.number = number
        """How many requests came before on this connection."""
        first, *lines = head.decode("latin-1").split("\r\n")
        self.method, self.path, _ = first.split(" ", 2)
        self.headers = {k.lower(): v for k, v in (line.split(": ", 1) for line in lines if line)}

    def json(self) -> Any:
        return json.loads(self.body)

    def send(self, data: bytes) -> None:
        self.connection.sendall(data)

    def answer(self, body: bytes | dict[str, Any], status: int = 200, extra: str = "") -> None:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        head = f"HTTP/1.1 {status} X\r\ncontent-type: application/json\r\n{extra}"
        self.send(f"{head}content-length: {len(content)}\r\n\r\n".encode() + content)

    def begin_stream(self) -> None:
        self.send(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nserver: engine\r\n"
            b"transfer-encoding: chunked\r\n\r\n"
        )

    def chunk(self, data: bytes) -> None:
        self.send(b"%x\r\n%b\r\n" % (len(data), data))

    def event(self, data: Any) -> None:
        self.chunk(f"data: {json.dumps(data)}\n\n".encode())

    def end_stream(self) -> None:
        self.chunk(b"data: [DONE]\n\n")
        self.send(b"0\r\n\r\n")

    def wait_for_hang_up(self, seconds: float = 10.0) -> float:
        """Return when the gateway closed this connection."""
        self.connection.settimeout(seconds)
        with suppress(ConnectionResetError):
            assert self.connection.recv(1) == b""
        return time.monotonic()


Script = Callable[[Call], None]


class Engine:
    """A threaded HTTP server on a real socket that does exactly what its script says."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.calls: list[Call] = []
        self.connections = 0
        self._open: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def close(self) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for connection in self._open:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        for connection in self._open:
            connection.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            self._open.append(connection)
            thread = threading.Thread(target=self._serve, args=(connection,))
            self._threads.append(thread)
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        pending, number = b"", 0
        with suppress(OSError):
            while True:
                while b"\r\n\r\n" not in pending:
                    if not (data := connection.recv(65536)):
                        return
                    pending += data
                head, pending = pending.split(b"\r\n\r\n", 1)
                call = Call(connection, head, b"", number)
                length = int(call.headers.get("content-length", 0))
                while len(pending) < length:
                    pending += connection.recv(65536)
                call.body, pending = pending[:length], pending[length:]
                self.calls.append(call)
                self.script(call)
                number += 1


class GatewayProcess:
    """`python -m workers.gateway` with an inherited socket."""

    def __init__(self, plane_url: str, data_dir: Path, *options: str, broker: str = "") -> None:
        self.data_dir = data_dir
        self._plane_url, self._options, self._broker = plane_url, options, broker
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self._listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = data_dir / "gateway.log"
        data_dir.mkdir(parents=True, exist_ok=True)
        self.start()

    def start(self) -> None:
        environment = os.environ | {
            "CONTROL_PLANE_URL": self._plane_url,
            "BROKER_URL": self._broker,
            "DATA_DIR": str(self.data_dir),
            "ENROLLMENT_TOKEN": TOKEN,
            "LISTEN_FDS": "1",
            "LOG_LEVEL": "DEBUG",
            "LISTENER": str(self._listener.fileno()),
        }
        # The shell moves the socket to descriptor 3, as a supervisor does.
        command = 'exec "$0" -m workers.gateway "$@" 3<&$LISTENER'
        options = ["--poll-seconds=0.05", "--ship-seconds=0.1", *self._options]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                ["/bin/bash", "-c", command, sys.executable, *options],
                cwd=ROOT,
                env=environment,
                pass_fds=[self._listener.fileno()],
                stdout=log,
                stderr=log,
            )

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(20)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self._listener.close()

    def connect(self) -> socket.socket:
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=10)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection


def request_bytes(
    body: bytes = b"{}", path: str = CHAT, key: str = KEY, method: str = "POST", extra: str = ""
) -> bytes:
    head = f"{method} {path} HTTP/1.1\r\nhost: gateway\r\nauthorization: Bearer {key}\r\n{extra}"
    return f"{head}content-length: {len(body)}\r\n\r\n".encode() + body


def read_answer(connection: socket.socket) -> tuple[int, dict[str, str], bytes]:
    """Return status, headers and body of one answer with a length, leaving the rest unread."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        byte = connection.recv(1)
        assert byte, f"closed after {head!r}"
        head += byte
    first, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
    headers = {k.lower(): v for k, v in (line.split(": ", 1) for line in lines)}
    body = b""
    while len(body) < int(headers.get("content-length", 0)):
        body += connection.recv(int(headers["content-length"]) - len(body))
    return int(first.split(" ")[1]), headers, body


def read_until_closed(connection: socket.socket) -> bytes:
    pieces = []
    with suppress(ConnectionResetError):
        while data := connection.recv(1 << 20):
            pieces.append(data)
    return b"".join(pieces)


USAGE = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}


def answers(call: Call) -> None:
    """The script of an engine that answers everything at once."""
    call.answer({"id": "1", "choices": [{"message": {"content": "hi"}}], "usage": USAGE})


def piece(text: str) -> dict[str, Any]:
    """Return one chunk of a streamed chat completion."""
    delta = {"index": 0, "delta": {"role": "assistant", "content": text}, "finish_reason": None}
    return {"id": "c", "object": "chat.completion.chunk", "model": "m", "choices": [delta]}


def streams(call: Call) -> None:
    """The script of an engine that streams three words, then usage when it was asked to."""
    call.begin_stream()
    for word in ("one", "two", "three"):
        call.event(piece(word))
    if call.json().get("stream_options", {}).get("include_usage"):
        call.event({"id": "c", "choices": [], "usage": USAGE})
    call.end_stream()
