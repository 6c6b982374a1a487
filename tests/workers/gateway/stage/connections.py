"""Requests and answers as bytes on a connection."""

import socket
import ssl
from contextlib import suppress

from tests.waiting import DEADLINE_SECONDS
from tests.workers.gateway.stage.routes import CHAT, KEY

# Nobody here speaks TLS, and to read all authorities takes longer than most tests.
NO_AUTHORITIES = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def connection_to(port: int) -> socket.socket:
    """Return one of which the system keeps little for who does not read."""
    connection = socket.create_connection(("127.0.0.1", port), timeout=DEADLINE_SECONDS)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 128 * 1024)
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
        piece = connection.recv(int(headers["content-length"]) - len(body))
        assert piece, f"closed after {len(body)} bytes of a body"
        body += piece
    return int(first.split(" ")[1]), headers, body


def read_until(connection: socket.socket, end: bytes) -> bytes:
    """Return what comes up to `end` and perhaps a little after it."""
    answer = b""
    while end not in answer:
        piece = connection.recv(4096)
        assert piece, f"closed after {answer!r}"
        answer += piece
    return answer


def request_id(answer: bytes) -> str:
    return answer.split(b"x-request-id: ")[1].split(b"\r\n")[0].decode()


def read_until_closed(connection: socket.socket) -> bytes:
    pieces = []
    with suppress(ConnectionResetError):
        while data := connection.recv(1 << 20):
            pieces.append(data)
    return b"".join(pieces)
