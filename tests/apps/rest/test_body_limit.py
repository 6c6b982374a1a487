"""A body that is too long never reaches Django, whether it says its length or not."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from apps.rest.body_limit import BodyLimit, Limit

Message = Mapping[str, Any]


def ask(
    chunks: list[bytes],
    *,
    announced: int | None = None,
    limit_bytes: int = 10,
    limit_of: Any = None,
) -> list[Any]:
    """What the client gets back; the application behind answers with the length it read."""
    sent: list[Any] = []
    waiting = [
        {"type": "http.request", "body": chunk, "more_body": number < len(chunks)}
        for number, chunk in enumerate(chunks, 1)
    ]

    async def receive() -> Message:
        return waiting.pop(0)

    async def send(message: Message) -> None:
        sent.append(message.get("status") or message.get("body"))

    async def read_all(scope: Message, receive: Any, send: Any) -> None:
        length, more = 0, True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            length, more = length + len(message["body"]), message["more_body"]
        await send({"type": "http.response.start", "status": 200})
        await send({"type": "http.response.body", "body": length})

    headers = [] if announced is None else [(b"content-length", str(announced).encode())]
    scope = {"type": "http", "headers": headers}
    limited = BodyLimit(read_all, limit_bytes=limit_bytes, limit_of=limit_of)
    asyncio.run(limited(scope, receive, send))
    return sent


def test_a_body_up_to_the_limit_passes() -> None:
    assert ask([b"12345", b"67890"], announced=10) == [200, 10]


@pytest.mark.parametrize("announced", [11, 10**15])
def test_an_announced_length_past_the_limit_is_refused_unread(announced: int) -> None:
    status, body = ask([], announced=announced)
    assert status == 413
    assert b"too_large" in body


def test_a_chunked_body_is_cut_off_at_the_limit() -> None:
    status, body = ask([b"123456", b"789012", b"never read"])
    assert status == 413
    assert b"too_large" in body


def test_other_protocols_pass() -> None:
    seen: list[str] = []

    async def note(scope: Message, receive: Any, send: Any) -> None:
        seen.append(scope["type"])

    async def nothing(*_: Any) -> Any:
        raise AssertionError("not called")

    asyncio.run(BodyLimit(note, limit_bytes=1)({"type": "lifespan"}, nothing, nothing))
    assert seen == ["lifespan"]


async def files(scope: Message) -> Limit:
    return Limit(bytes=15, hint="Smaller, please.")


def test_where_files_are_taken_a_body_may_be_as_long_as_it_says() -> None:
    assert ask([b"123456789012"], announced=12, limit_of=files) == [200, 12]
    status, body = ask([], announced=16, limit_of=files)
    assert status == 413
    assert b"Smaller, please." in body
    status, _ = ask([b"1234567890", b"1234567890"], announced=12, limit_of=files)
    assert status == 413
    status, _ = ask([b"123456789012"], limit_of=files)
    assert status == 413
