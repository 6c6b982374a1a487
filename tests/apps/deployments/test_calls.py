"""What a page asks goes to the gateway as it is, and the answer comes back as it comes."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from apps.deployments import calls
from apps.deployments.calls import Call, call_events
from controlplane.domain.wire import DONE
from tests.scripted_gateway import ScriptedGateway, refusal, scripted_gateway

BODY = b'{"model": "tiny",  "messages": []}'


@pytest.fixture
def gateway() -> Iterator[ScriptedGateway]:
    with scripted_gateway() as gateway:
        yield gateway


def call(url: str) -> AsyncIterator[bytes]:
    return call_events(Call(url=url, key="abc.def", body=BODY))


async def told(url: str) -> bytes:
    return b"".join([piece async for piece in call(url)])


def events(stream: bytes) -> list[tuple[str, Any]]:
    found = []
    for block in stream.split(b"\n\n")[:-1]:
        lines = dict(line.split(b": ", 1) for line in block.split(b"\n"))
        data = lines[b"data"]
        kind = lines.get(b"event", b"message").decode()
        found.append((kind, data if data == b"[DONE]" else json.loads(data)))
    return found


def test_the_body_goes_as_it_is_and_the_stream_comes_back_behind_its_status(
    gateway: ScriptedGateway,
) -> None:
    stream = asyncio.run(told(f"{gateway.url}/m/x/production/sync/v1/chat/completions"))
    assert gateway.asked == [
        {"path": "/m/x/production/sync/v1/chat/completions", "key": "Bearer abc.def", "body": BODY}
    ]
    assert events(stream)[0] == ("answer", {"status": 200, "retry_after": None})
    assert stream.endswith(DONE)
    assert [kind for kind, _ in events(stream)[1:]] == ["message"] * 8


def test_a_refusal_comes_with_its_status_its_words_and_when_to_ask_again(
    gateway: ScriptedGateway,
) -> None:
    words = refusal("Too many.", status=429, code="rate_limit_exceeded")
    gateway.replies.append((429, {"retry-after": "7"}, words))
    (_, answer), (kind, body) = events(asyncio.run(told(gateway.url)))
    assert answer == {"status": 429, "retry_after": 7}
    assert (kind, body["error"]["message"]) == ("body", "Too many.")


def test_a_key_that_the_gateway_does_not_know_yet_is_shown_again(
    gateway: ScriptedGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calls, "_KEY_IS_KNOWN_SECONDS", 60.0)
    gateway.replies += [(401, {}, refusal("Unknown key.", status=401))] * 2
    assert events(asyncio.run(told(gateway.url)))[0][1]["status"] == 200
    assert len(gateway.asked) == 3


def test_a_gateway_that_is_away_is_said_in_the_stream() -> None:
    ((kind, body),) = events(asyncio.run(told("http://127.0.0.1:9/")))
    assert kind == "error"
    assert body["error"]["code"] == "gateway_lost"
    assert "The gateway does not answer" in body["error"]["message"]


def test_the_gateway_is_left_as_soon_as_nobody_reads_on(gateway: ScriptedGateway) -> None:
    gateway.waits = True

    async def read_two_pieces() -> None:
        stream = call(gateway.url)
        await anext(stream)
        await anext(stream)
        await stream.aclose()  # type: ignore[attr-defined]

    asyncio.run(read_two_pieces())
    assert gateway.was_left.wait(20)
