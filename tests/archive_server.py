"""A web server on the loopback with archives, ranges, redirects and bad days.

with ArchiveServer() as server:
    server.files["/llama.tar.gz"] = packed(files)
    ... REMOTE_URL = server.url("/llama.tar.gz")
"""

import gzip
import hashlib
import io
import re
import ssl
import tarfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Self

from tests.hub_contents import Request, Trouble
from tests.loopback_server import LoopbackServer

__all__ = ["ArchiveServer", "Trouble", "packed"]


def packed(
    files: Mapping[str, bytes],
    *,
    compressed: bool = True,
    extra: tuple[tarfile.TarInfo, ...] = (),
    form: int = tarfile.PAX_FORMAT,
) -> bytes:
    """Return a tar of the files, then of members without content as given."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w", format=form) as tar:
        for name, body in files.items():
            about = tarfile.TarInfo(name)
            about.size = len(body)
            tar.addfile(about, io.BytesIO(body))
        for each in extra:
            tar.addfile(each)
    plain = content.getvalue()
    return _compressed(plain) if compressed else plain


class ArchiveServer:
    """Runs in threads of this process on a free port while the `with` block lasts."""

    def __init__(self, certificate: Path | None = None) -> None:
        self.files: dict[str, bytes] = {}
        self.redirects: dict[str, str] = {}
        self.troubles: dict[str, Trouble] = {}
        self.requests: list[Request] = []
        self.has_ranges = True
        self.has_etags = True
        self.announces_length = True
        self.stopping = threading.Event()
        self._scheme = "https" if certificate else "http"
        self._server = LoopbackServer(("127.0.0.1", 0), _Handler)
        self._server.site = self  # type: ignore[attr-defined]
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))

    def url(self, path: str, host: str = "127.0.0.1") -> str:
        return f"{self._scheme}://{host}:{self._server.server_address[1]}{path}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.stopping.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    @property
    def site(self) -> ArchiveServer:
        site: ArchiveServer = self.server.site  # type: ignore[attr-defined]
        return site

    def handle(self) -> None:
        with suppress(ConnectionError):  # clients that go away are part of the tests
            super().handle()

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        self.site.requests.append(
            Request("GET", self.path, self.headers.get("range"), self.headers.get("host"))
        )
        with suppress(ConnectionError):
            if path in self.site.redirects:
                self._send(302, b"", {"Location": self.site.redirects[path]}, Trouble())
            elif path not in self.site.files:
                self._send(404, b"nothing", {}, Trouble())
            else:
                self._send_file(path, self.site.files[path])

    def log_message(self, *_arguments: object) -> None:
        pass

    def _send_file(self, path: str, content: bytes) -> None:
        trouble = self.site.troubles.get(path)
        if trouble is None or not trouble.used():
            trouble = Trouble()
        if trouble.status is not None:
            self._send(trouble.status, trouble.body or b"trouble", trouble.headers, Trouble())
            return
        etag = f'"{hashlib.sha256(content).hexdigest()[:16]}"'
        about = {"ETag": etag} if self.site.has_etags else {}
        match = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("range", ""))
        fresh = self.headers.get("if-range", etag) == etag
        if match is None or not fresh or not self.site.has_ranges:
            self._send(200, content, about, trouble)
            return
        start, end = int(match[1]), min(int(match[2] or len(content)) + 1, len(content))
        if start >= len(content):
            self._send(416, b"", {"Content-Range": f"bytes */{len(content)}"}, Trouble())
            return
        about["Content-Range"] = f"bytes {start}-{end - 1}/{len(content)}"
        self._send(206, content[start:end], about, trouble)

    def _send(self, status: int, body: bytes, headers: dict[str, str], trouble: Trouble) -> None:
        self.send_response(status, HTTPStatus(status).phrase)
        for name, value in headers.items():
            self.send_header(name, value)
        if self.site.announces_length or status != 200:
            self.send_header("Content-Length", str(len(body)))
        else:
            self.send_header("Connection", "close")
            self.close_connection = True
        self.end_headers()
        for piece in self._pieces(body, trouble):
            self.wfile.write(piece)

    def _pieces(self, body: bytes, trouble: Trouble) -> Iterator[bytes]:
        if trouble.silent:
            self.site.stopping.wait()
        if trouble.break_after is None or trouble.break_after >= len(body):
            yield body
            return
        yield body[: trouble.break_after]
        self.wfile.flush()
        if trouble.stall:
            self.site.stopping.wait()
        self.close_connection = True


@lru_cache(maxsize=8)
def _compressed(plain: bytes) -> bytes:
    # Most tests pack the same checkpoint.
    return gzip.compress(plain, compresslevel=1, mtime=0)
