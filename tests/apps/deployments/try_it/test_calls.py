"""What a page asks goes to the gateway as it is, and the answer comes back as it comes."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from apps.deployments.try_it.calls import LONGEST_BODY_BYTES, Call, call_events
from controlplane.clock import SYSTEM, Clock
from controlplane.domain.wire import DONE
from tests.manual_clock import ManualClock
from tests.scripted_gateway import ScriptedGateway, refusal, scripted_gateway
from tests.waiting import DEADLINE_SECONDS

BODY = b'{"model": "tiny",  "messages": []}'


@pytest.fixture
def gateway() -> Iterator[ScriptedGateway]:
    with scripted_gateway() as gateway:
        yield gateway


def call(url: str, clock: Clock = SYSTEM) -> AsyncIterator[bytes]:
    return call_events(Call(url=url, key="abc.def", body=BODY), clock=clock)


async def told(url: str, clock: Clock = SYSTEM) -> bytes:
    return b"".join([piece async for piece in call(url, clock)])


def events(stream: bytes) -> list[tuple[str, Any]]:
    entries = []
    for block in stream.split(b"\n\n")[:-1]:
        lines = dict(line.split(b": ", 1) for line in block.split(b"\n"))
        data = lines[b"data"]
        kind = lines.get(b"event", b"message").decode()
        entries.append((kind, data if data == b"[DONE]" else json.loads(data)))
    return entries


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
    gateway: ScriptedGateway,
) -> None:
    gateway.replies += [(401, {}, refusal("Unknown key.", status=401))] * 2
    clock = ManualClock(sleeping_moves_it=True)
    assert events(asyncio.run(told(gateway.url, clock)))[0][1]["status"] == 200
    assert len(gateway.asked) == 3
    assert len(clock.slept) == 2


def test_a_key_that_stays_unknown_is_shown_for_five_seconds(gateway: ScriptedGateway) -> None:
    gateway.replies += [(401, {}, refusal("Unknown key.", status=401))] * 100
    clock = ManualClock(sleeping_moves_it=True)
    assert events(asyncio.run(told(gateway.url, clock)))[0][1]["status"] == 401
    assert sum(clock.slept) == pytest.approx(5, abs=0.11)


def test_while_the_gateway_takes_its_time_the_page_is_told_that_it_is_waited_for() -> None:
    clock = ManualClock()

    async def first_piece(url: str) -> bytes:
        stream = call(url, clock)
        piece = asyncio.ensure_future(anext(stream))
        await asyncio.to_thread(clock.wait_for_waiters)
        clock.advance(15)
        first = await piece
        await stream.aclose()  # type: ignore[attr-defined]
        return first

    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/"
        assert asyncio.run(first_piece(url)) == b": waiting\n\n"


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
    assert gateway.was_left.wait(DEADLINE_SECONDS)


def test_an_answer_that_is_too_long_for_a_page_is_said_in_the_stream(
    gateway: ScriptedGateway,
) -> None:
    gateway.replies.append((200, {}, b"x" * (LONGEST_BODY_BYTES + 1)))
    stream = asyncio.run(told(gateway.url))
    assert [kind for kind, _ in events(stream)] == ["answer", "error"]
    assert events(stream)[1][1]["error"]["code"] == "answer_too_long"
