"""Calls of our own processes pass no page's parts, and are answered as pages' requests are."""

import asyncio
import json
from typing import Any

import pytest

from apps.accounts.audit import recording
from apps.routes import internal_api
from controlplane.asgi import application

PATH = "/internal/v1/routes"


def answer_to(*messages: dict[str, Any], **scope: Any) -> tuple[int, dict[bytes, bytes], Any]:
    """Return status, headers and content of the answer; (0, {}, None) where there is none."""
    request: dict[str, Any] = {
        "type": "http", "http_version": "1.1", "method": "GET", "path": PATH, "query_string": b"",
        "scheme": "http", "headers": [(b"host", b"localhost")], "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 8000), **scope,
    }  # fmt: skip
    sent: list[Any] = []
    coming = iter(messages or ({"type": "http.request"},))

    async def receive() -> Any:
        return next(coming)

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(application(request, receive, send))
    if not sent:
        return 0, {}, None
    start, body = sent
    is_json = dict(start["headers"])[b"content-type"] == b"application/json"
    content = json.loads(body["body"]) if is_json else body["body"]
    return start["status"], dict(start["headers"]), content


def test_a_call_without_a_credential_is_refused_in_json_without_a_pages_headers() -> None:
    status, headers, body = answer_to()
    assert (status, body["code"]) == (401, "unauthenticated")
    assert headers[b"content-length"] == str(len(json.dumps(body))).encode()
    assert headers.keys() == {b"content-type", b"content-length"}


def test_a_host_that_is_not_ours_is_refused(settings: Any) -> None:
    settings.ALLOWED_HOSTS = ["ours"]
    status, headers, _ = answer_to()
    assert (status, headers[b"content-type"]) == (400, b"text/html; charset=utf-8")


def test_what_a_call_changes_is_known_as_a_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def note(**_said: Any) -> None:
        seen.append(recording._whence())

    monkeypatch.setattr(internal_api, "gateway_seen", note)
    headers = [(b"host", b"localhost"), (b"authorization", b"Bearer nobody")]
    status, _, body = answer_to(headers=headers)
    assert (status, body["code"]) == (401, "unknown_credential")
    assert seen == [{"source": "worker", "address": "127.0.0.1"}]


@pytest.mark.parametrize("method", ["POST", "PUT"])
def test_a_body_comes_in_pieces_and_another_method_is_refused(method: str) -> None:
    pieces = ({"type": "http.request", "body": b"{", "more_body": True}, {"type": "http.request"})
    status, _, body = answer_to(*pieces, method=method)
    assert (status, body["code"]) == (405, "method_not_allowed")


def test_who_leaves_before_the_body_has_come_is_not_answered() -> None:
    assert answer_to({"type": "http.disconnect"}) == (0, {}, None)
