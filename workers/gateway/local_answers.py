"""Whole answers that the gateway writes itself."""

import json

from workers.gateway import refusals
from workers.gateway.headers import response_head
from workers.gateway.refusals import Refusal
from workers.gateway.request import Request

JSON = b"application/json"


def refusal(request: Request, refusal: Refusal, *, request_id: bytes, closes: bool) -> bytes:
    """Return the answer that says no, in the shape that this route's clients read."""
    ours = []
    if refusal.retry_after_seconds is not None:
        ours.append(b"retry-after: %d" % refusal.retry_after_seconds)
    if refusal.allow is not None:
        ours.append(b"allow: " + refusal.allow.encode())
    if refusal.status == 401:
        ours.append(b"www-authenticate: Bearer")
    body = refusals.body(refusal, openai=request.speaks_openai)
    return answer(
        request, refusal.status, body, request_id=request_id, closes=closes, ours=ours, kind=JSON
    )


def health(request: Request, *, state: str, version: int | None, request_id: bytes) -> bytes:
    """Return 200 while new requests can be served: routes hold, and no drain has begun."""
    body = json.dumps({"status": state, "snapshot_version": version}).encode()
    status = 200 if state == "ok" else 503
    closes = not request.keep_alive
    return answer(request, status, body, request_id=request_id, closes=closes, ours=[], kind=JSON)


def accepted(request: Request, *, request_id: bytes) -> bytes:
    closes = not request.keep_alive
    return answer(request, 202, b"", request_id=request_id, closes=closes, ours=[], kind=JSON)


def response_of(request: Request, body: bytes, *, request_id: bytes) -> bytes:
    closes = not request.keep_alive
    return answer(request, 200, body, request_id=request_id, closes=closes, ours=[], kind=JSON)


def answer(
    request: Request,
    status: int,
    body: bytes,
    *,
    request_id: bytes,
    closes: bool,
    ours: list[bytes],
    kind: bytes,
) -> bytes:
    lines = [*ours, b"content-type: " + kind, b"content-length: %d" % len(body)]
    if closes:
        lines.append(b"connection: close")
    elif request.http_10:
        lines.append(b"connection: keep-alive")
    head = response_head(
        status=status, headers=[], named_by_connection=b"", ours=lines, request_id=request_id
    )
    return head if request.method == b"HEAD" else head + body
