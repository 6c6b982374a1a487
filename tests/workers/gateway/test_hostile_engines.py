"""Engines that have gone mad: they cost bounded memory, and their clients hear of it."""

import json
from contextlib import suppress

import httpx
import pytest

from tests.waiting import DEADLINE_SECONDS
from tests.workers.gateway.stage.connections import (
    read_answer,
    read_until,
    read_until_closed,
    request_bytes,
)
from tests.workers.gateway.stage.mad_engines import (
    HEAD,
    MANY_DIGITS,
    WITHOUT_END,
    Endless,
    answers_half,
    endless_event,
)
from tests.workers.gateway.stage.routes import CHAT, METRICS_KEY
from tests.workers.gateway.stage.scripts import answers


@pytest.mark.parametrize(("begins", "goes_on"), WITHOUT_END.values(), ids=WITHOUT_END)
def test_what_an_answer_carries_beside_its_body_has_an_end(serve, begins, goes_on):
    gateway, engine = serve(script := Endless(begins, goes_on))

    with gateway.connect() as client:
        client.sendall(request_bytes(extra="connection: close\r\n"))
        answer = read_until_closed(client)

    # Whoever has the head already can only be told by a cut.
    has_head = b"\r\n\r\n" in begins
    assert answer.startswith(b"HTTP/1.1 502 ") or (
        has_head and not answer.endswith(b"\r\n0\r\n\r\n")
    )
    assert script.was_cut_off.wait(DEADLINE_SECONDS)
    engine.script = answers
    with gateway.connect() as client:
        client.sendall(request_bytes())
        assert read_answer(client)[0] == 200


def test_an_event_without_end_ends_the_stream_with_an_error(house, serve):
    gateway, _ = serve(endless_event)

    with gateway.connect() as client:
        client.sendall(request_bytes(b'{"messages":[],"stream":true}'))
        answer = read_until(client, b"\r\n0\r\n\r\n")

    assert b"event: error" in answer
    assert b"engine_failed" in answer
    assert len(answer) < 10_000, "nothing of the endless event is passed on"
    assert b"endless_event" in gateway.inner.metrics.exposition(lambda _: True)


@pytest.mark.parametrize("status", [b"000", b"099", b"600", b"999"])
def test_a_status_that_is_none_is_a_bad_answer(serve, http, status):
    gateway, _ = serve(
        lambda call: call.send(b"HTTP/1.1 %b X\r\ncontent-length: 2\r\n\r\n{}" % status)
    )

    assert http.post(gateway.url + CHAT, json={}).status_code == 502


OTHER_FRAMES = {
    "both lengths": b"content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    "two lengths": b"content-length: 2\r\ncontent-length: 4\r\n\r\n{}[]",
    "two lengths in one": b"content-length: 2, 2\r\n\r\n{}",
    "a length below nothing": b"content-length: -2\r\n\r\n{}",
    "a length that overflows": b"content-length: 18446744073709551618\r\n\r\n{}",
    "a coding below the chunks": (b"transfer-encoding: gzip, chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"),
    "a coding over the chunks": (b"transfer-encoding: chunked, gzip\r\n\r\n2\r\n{}\r\n0\r\n\r\n"),
    "no chunks": b"transfer-encoding: identity\r\n\r\n{}",
    "chunks twice": (
        b"transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"
    ),
    "a chunk size that overflows": (
        b"transfer-encoding: chunked\r\n\r\n10000000000000002\r\n{}\r\n0\r\n\r\n"
    ),
    "a NUL in a header": b"content-type: a\x00b\r\ncontent-length: 2\r\n\r\n{}",
    "a header within a header": b"content-type: a\rset-cookie: b\r\ncontent-length: 2\r\n\r\n{}",
    "a folded header": b"content-type: a\r\n b\r\ncontent-length: 2\r\n\r\n{}",
}


@pytest.mark.parametrize("rest", OTHER_FRAMES.values(), ids=OTHER_FRAMES)
def test_an_answer_that_two_readers_could_read_differently_is_a_bad_one(serve, rest):
    gateway, _ = serve(lambda call: call.send(b"HTTP/1.1 200 OK\r\n" + rest))

    with gateway.connect() as client:
        client.sendall(request_bytes(extra="connection: close\r\n"))
        assert read_until_closed(client).startswith(b"HTTP/1.1 502 ")
    assert gateway.inner.metrics.slips == 0


def test_what_an_engine_says_behind_its_answer_is_nobodys_answer(serve):
    answer = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b"
    gateway, engine = serve(lambda call: call.send(answer % (2, b"{}") + answer % (7, b"another")))

    with gateway.connect() as client:
        client.sendall(request_bytes())
        assert read_answer(client)[2] == b"{}"
        engine.script = lambda call: call.send(answer % (3, b"own"))
        client.sendall(request_bytes())
        assert read_answer(client)[2] == b"own"


@pytest.mark.parametrize("status", [200, 400])
def test_numbers_of_thousands_of_digits_and_nesting_without_end_are_only_passed_on(
    house, serve, http, status
):
    digits, nested = b'{"usage":{"prompt_tokens":%b}}' % MANY_DIGITS, b"[" * 50_000
    gateway, engine = serve(answers)

    for content in (digits, nested):
        engine.script = lambda call, content=content: call.answer(
            content, status, extra=f"x-compute-tokens: {MANY_DIGITS.decode()}\r\n"
        )
        answer = http.post(gateway.url + CHAT, json={})
        assert answer.status_code == status
        assert house.record_of(answer)["prompt_tokens"] is None
    assert gateway.inner.metrics.slips == 0


def ejected_at(http: httpx.Client, url: str) -> str:
    return http.get(f"{url}/metrics", headers={"authorization": f"Api-Key {METRICS_KEY}"}).text


def asked(engine) -> list[str]:
    """Return by which methods the engine was asked: the probe's is GET."""
    return [call.method for call in engine.calls]


@pytest.mark.parametrize(
    ("script", "reason"),
    [(answers_half, "reset"), (Endless(HEAD, b"x: y\r\n" * 1000), "bad_answer")],
)
def test_an_engine_that_has_gone_mad_is_passed_over_for_a_while(house, http, script, reason):
    mad, sane = house.engine(script), house.engine(answers)
    house.publish(mad, sane)
    gateway = house.gateway()

    with suppress(httpx.RemoteProtocolError):  # an answer that began is cut
        assert http.post(gateway.url + CHAT, json={}).status_code == 502
    assert [http.post(gateway.url + CHAT, json={}).status_code for _ in range(3)] == [200] * 3
    assert asked(mad) == ["POST"]
    assert "gateway_replicas_ejected{" in ejected_at(http, gateway.url)
    assert json.loads(gateway.report().to_json(1))["ejected"] == {"rep00": reason}
    gateway.advance(gateway.inner.bounds.eject_seconds)
    assert http.post(gateway.url + CHAT, json={}).status_code == 200, "nobody has asked how it is"
    assert gateway.probe_ejected() == 1
    with suppress(httpx.RemoteProtocolError):
        http.post(gateway.url + CHAT, json={})
    assert asked(mad) == ["POST", "GET", "POST"]
    gateway.advance(gateway.inner.bounds.eject_seconds)
    assert gateway.probe_ejected() == 0, "it failed twice: its rest is twice as long"
    assert http.post(gateway.url + CHAT, json={}).status_code == 200
    assert asked(mad) == ["POST", "GET", "POST"]
