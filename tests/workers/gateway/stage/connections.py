"""Requests and answers as bytes on a connection."""

import socket
from contextlib import suppress

from tests.workers.gateway.stage.routes import CHAT, KEY


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
