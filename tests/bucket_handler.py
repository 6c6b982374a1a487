"""Answers of the loopback object stores, one request at a time."""

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email.utils import format_datetime
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from threading import Event
from typing import Protocol
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

from tests.bucket_logins import ACCOUNT, Login, Refusal, S3Login
from tests.hub_contents import Request, Trouble

MODIFIED = datetime(2026, 11, 20, 10, tzinfo=UTC)


@dataclass(frozen=True)
class StoredObject:
    content: bytes
    etag: str
    modified: datetime = MODIFIED
    metadata: Mapping[str, str] = field(default_factory=dict)
    """Headers that came with it and go out with it."""


class Store(Protocol):
    """What the answers are made from."""

    source: str
    login: Login
    page_size: int
    buckets: dict[str, dict[str, StoredObject]]
    public: set[str]
    unreadable: set[str]
    region: str
    troubles: dict[str, Trouble]
    requests: list[Request]
    stopping: Event
    is_read_only: bool
    is_full: bool
    is_skewed: bool
    knows_conditions: bool
    pass_put: Callable[[str], None]
    pass_get: Callable[[str], None]

    def put(self, bucket: str, key: str, content: bytes) -> None: ...


class BucketHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    @property
    def store(self) -> Store:
        store: Store = self.server.store  # type: ignore[attr-defined]
        return store

    def handle(self) -> None:
        with suppress(ConnectionError):  # clients that go away are part of the tests
            super().handle()

    def do_GET(self) -> None:
        self._answer("GET", b"")

    def do_HEAD(self) -> None:
        self._answer("HEAD", b"")

    def do_PUT(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self._answer("PUT", body)

    def do_DELETE(self) -> None:
        self._answer("DELETE", b"")

    def _answer(self, method: str, body: bytes) -> None:
        parts = urlsplit(self.path)
        path = unquote(parts.path)
        headers = {name.lower(): value for name, value in self.headers.items()}
        login = headers.get("authorization")
        self.store.requests.append(Request(method, path, headers.get("range"), login))
        steps = path.lstrip("/").split("/", 2 if self.store.source == "AZURE" else 1)
        if self.store.source == "AZURE":
            assert steps.pop(0) == ACCOUNT
        bucket, key = steps[0], steps[1] if len(steps) > 1 else ""
        with suppress(ConnectionError):
            if refusal := self._refusal(method, bucket, key, headers):
                self._refuse(refusal)
            elif method == "PUT":
                self._put_object(bucket, key, headers, body)
            elif method == "DELETE":
                self._delete_object(bucket, key)
            elif key:
                self._send_object(bucket, key, headers)
            else:
                query = {name: each[0] for name, each in parse_qs(parts.query).items()}
                self._send_list(bucket, query)

    def log_message(self, *_arguments: object) -> None:
        pass

    def _put_object(self, bucket: str, key: str, headers: dict[str, str], body: bytes) -> None:
        self.store.pass_put(key)
        trouble = self._in_trouble(key, "put")
        if trouble is None:
            return
        if hashlib.sha256(body).hexdigest() != headers["x-amz-content-sha256"]:
            self._refuse(Refusal(400, "XAmzContentSHA256Mismatch"))
        elif self.store.is_full:
            self._refuse(Refusal(507, "XMinioStorageFull"))
        elif "if-none-match" in headers and not self.store.knows_conditions:
            self._refuse(Refusal(501, "NotImplemented"))
        elif headers.get("if-none-match") == "*" and key in self.store.buckets[bucket]:
            self._refuse(Refusal(412, "PreconditionFailed"))
        else:
            self.store.put(bucket, key, body)
            of_user = {
                name: report for name, report in headers.items() if name.startswith("x-amz-meta-")
            }
            kept = self.store.buckets[bucket]
            kept[key] = replace(kept[key], metadata=of_user)
            if trouble.break_after is not None:  # taken in, and the answer is lost
                self.close_connection = True
                return
            self._send(200, b"", {"ETag": self.store.buckets[bucket][key].etag})

    def _delete_object(self, bucket: str, key: str) -> None:
        if self._in_trouble(key, "delete") is not None:
            self.store.buckets[bucket].pop(key, None)
            self._send(204, b"", {})

    def _refusal(
        self, method: str, bucket: str, key: str, headers: dict[str, str]
    ) -> Refusal | None:
        store = self.store
        if store.is_skewed:
            return Refusal(403, "RequestTimeTooSkewed", "The difference is too large.")
        if "authorization" in headers:
            if isinstance(store.login, S3Login):
                region = store.login.region(headers)
                if region != store.region:
                    text = f"the region '{region}' is wrong; expecting '{store.region}'"
                    return Refusal(400, "AuthorizationHeaderMalformed", text)
            if refusal := store.login.refusal(method, self.path, headers):
                return refusal
        elif bucket not in store.public:
            unknown = {"S3": (403, "AccessDenied"), "GCS": (401, "AuthenticationRequired")}
            return Refusal(*unknown.get(store.source, (409, "PublicAccessNotPermitted")))
        if bucket not in store.buckets:
            azure = store.source == "AZURE"
            return Refusal(404, "ContainerNotFound" if azure else "NoSuchBucket")
        if method not in ("GET", "HEAD") and store.is_read_only:
            return Refusal(403, "AccessDenied")
        if key in store.unreadable:
            azure = store.source == "AZURE"
            return Refusal(403, "AuthorizationPermissionMismatch" if azure else "AccessDenied")
        return None

    def _send_list(self, bucket: str, query: dict[str, str]) -> None:
        trouble = self._in_trouble("list")
        if trouble is None:
            return
        keys = [
            key
            for key in sorted(self.store.buckets[bucket])
            if key.startswith(query.get("prefix", ""))
        ]
        start = int(query.get("continuation-token") or query.get("marker") or 0)
        page, more = keys[start : start + self.store.page_size], start + self.store.page_size
        following = str(more) if more < len(keys) else ""
        write = self._azure_list if self.store.source == "AZURE" else self._s3_list
        body = write({key: self.store.buckets[bucket][key] for key in page}, following)
        self._send(200, body.encode(), {"Content-Type": "application/xml"}, trouble)

    def _s3_list(self, page: dict[str, StoredObject], following: str) -> str:
        objects = "".join(
            f"<Contents><Key>{escape(key)}</Key><LastModified>{_iso(each.modified)}</LastModified>"
            f"<ETag>{escape(each.etag)}</ETag><Size>{len(each.content)}</Size></Contents>"
            for key, each in page.items()
        )
        token = f"<NextContinuationToken>{following}</NextContinuationToken>" if following else ""
        truncated = "true" if following else "false"
        return (
            f"<ListBucketResult><KeyCount>{len(page)}</KeyCount>"
            f"<IsTruncated>{truncated}</IsTruncated>{token}{objects}</ListBucketResult>"
        )

    def _azure_list(self, page: dict[str, StoredObject], following: str) -> str:
        blobs = "".join(
            f"<Blob><Name>{escape(key)}</Name><Properties>"
            f"<Last-Modified>{_http(each.modified)}</Last-Modified><Etag>{each.etag.strip(chr(34))}</Etag>"
            f"<Content-Length>{len(each.content)}</Content-Length>"
            f"<Content-Type>application/octet-stream</Content-Type></Properties></Blob>"
            for key, each in page.items()
        )
        return (
            f'<?xml version="1.0" encoding="utf-8"?><EnumerationResults><Blobs>{blobs}</Blobs>'
            f"<NextMarker>{following}</NextMarker></EnumerationResults>"
        )

    def _send_object(self, bucket: str, key: str, headers: dict[str, str]) -> None:
        self.store.pass_get(key)
        trouble = self._in_trouble(key, "get")
        if trouble is None:
            return
        outcome = self.store.buckets[bucket].get(key)
        if outcome is None:
            self._refuse(
                Refusal(404, "BlobNotFound" if self.store.source == "AZURE" else "NoSuchKey")
            )
            return
        wanted_etag = headers.get("if-match", outcome.etag).strip('"')
        if wanted_etag != outcome.etag.strip('"'):
            azure = self.store.source == "AZURE"
            self._refuse(Refusal(412, "ConditionNotMet" if azure else "PreconditionFailed"))
            return
        content = (
            bytes(each ^ 1 for each in outcome.content) if trouble.altered else outcome.content
        )
        answer = {
            "ETag": outcome.etag,
            "Last-Modified": _http(outcome.modified),
            **outcome.metadata,
        }
        if "x-ms-version" in headers:
            answer["x-ms-version"] = headers["x-ms-version"]
        match = re.fullmatch(r"bytes=(\d+)-(\d*)", headers.get("range", ""))
        if match is None:
            self._send(200, content, answer, trouble)
            return
        start, end = int(match[1]), min(int(match[2] or len(content)) + 1, len(content))
        if start >= len(content):
            self._refuse(Refusal(416, "InvalidRange"))
            return
        answer["Content-Range"] = f"bytes {start}-{end - 1}/{len(content)}"
        self._send(206, content[start:end], answer, trouble)

    def _in_trouble(self, *names: str) -> Trouble | None:
        """Return what goes wrong beyond a status of its own, which is answered here."""
        known = (self.store.troubles.get(name) for name in names)
        trouble = next((each for each in known if each is not None), None)
        if trouble is None or not trouble.used():
            return Trouble()
        if trouble.status is not None:
            self._send(trouble.status, trouble.body or b"", trouble.headers)
            return None
        return trouble

    def _refuse(self, refusal: Refusal) -> None:
        region = f"<Region>{self.store.region}</Region>" if "region" in refusal.message else ""
        body = (
            f'<?xml version="1.0" encoding="UTF-8"?><Error><Code>{refusal.code}</Code>'
            f"<Message>{refusal.message}</Message>{region}</Error>"
        )
        self._send(refusal.status, body.encode(), {"x-ms-error-code": refusal.code})

    def _send(
        self, status: int, body: bytes, headers: dict[str, str], trouble: Trouble | None = None
    ) -> None:
        self.send_response(status, HTTPStatus(status).phrase)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "HEAD":
            return
        for piece in self._pieces(body, trouble or Trouble()):
            self.wfile.write(piece)

    def _pieces(self, body: bytes, trouble: Trouble) -> Iterator[bytes]:
        if trouble.silent:
            self.store.stopping.wait()
        if trouble.break_after is None or trouble.break_after >= len(body):
            yield body
            return
        yield body[: trouble.break_after]
        self.wfile.flush()
        if trouble.stall:
            self.store.stopping.wait()
        self.close_connection = True


def _iso(moment: datetime) -> str:
    return (
        moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"
    )


def _http(moment: datetime) -> str:
    return format_datetime(moment.astimezone(UTC), usegmt=True)
