"""What the gateway asks its control plane with: bounded, on connections that are used again."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import TypeVar

import pytest

from controlplane.clock import Clock
from tests.archive_server import ArchiveServer
from tests.certificates import self_signed
from tests.loopback_server import nobody_listens
from tests.manual_clock import ManualClock
from tests.workers.gateway.stage.engine import Call, Engine, Script
from workers.gateway.plain_http import IDLE_SECONDS, Answer, Limits, NoAnswer, PlainHttp

Result = TypeVar("Result")
HEAD = b"HTTP/1.1 200 OK\r\n"
CHUNKED = HEAD + b"transfer-encoding: chunked\r\n\r\n"
LIMITS = Limits(most_bytes=200_000, silent_seconds=5.0, seconds=30.0)
ENDLESS = {
    "a body": (HEAD + b"\r\n", b" " * 65536),
    "a chunked body": (CHUNKED, b"10000\r\n" + b" " * 65536 + b"\r\n"),
    "a header": (HEAD + b"x: ", b"y" * 4096),
    "headers": (HEAD, b"x: y\r\n" * 100),
    "a line of a chunk": (CHUNKED, b"0" * 4096),
    "trailers": (CHUNKED + b"0\r\n", b"x: y\r\n" * 100),
}
MALFORMED = {
    "no HTTP": b"\x00\xff\r\n\r\n",
    "half a head": HEAD,
    "half a body": HEAD + b"content-length: 100\r\n\r\n{",
    "half a chunk": CHUNKED + b"10\r\nabc",
    "nothing": b"",
}


def test_a_whole_answer_comes_back_whatever_its_status_and_framing() -> None:
    def chunked(call: Call) -> None:
        call.send(b"HTTP/1.1 103 Hints\r\n\r\n" + CHUNKED + b"2\r\nhi\r\n0\r\nx-trailer: y\r\n\r\n")

    def until_the_end(call: Call) -> None:
        call.send(HEAD + b"\r\nhi")
        call.connection.close()
        raise OSError

    for script in (chunked, until_the_end):
        answer = asked_once(script)
        assert (answer.status, answer.content) == (200, b"hi")
    answer = asked_once(lambda call: call.answer(call.body, 418, "X-Said: yes\r\n"))
    assert (answer.status, answer.content, answer.headers["x-said"]) == (418, b"body", "yes")


def test_what_is_sent_comes_whole_and_below_the_path() -> None:
    def script(call: Call) -> None:
        call.answer(f"{call.method} {call.path} {call.headers['x']} {len(call.body)}".encode())

    assert asked_once(script).content == b"POST /below/this?a=b 1 4"


@pytest.mark.parametrize(("begins", "goes_on"), ENDLESS.values(), ids=ENDLESS)
def test_an_answer_without_end_is_left(begins: bytes, goes_on: bytes) -> None:
    def script(call: Call) -> None:
        call.send(begins)
        while True:
            call.send(goes_on)

    with pytest.raises(NoAnswer):
        asked_once(script)


@pytest.mark.parametrize("content", MALFORMED.values(), ids=MALFORMED)
def test_what_is_no_answer_is_told_as_such(content: bytes) -> None:
    def script(call: Call) -> None:
        call.send(content)
        call.connection.close()
        raise OSError

    with pytest.raises(NoAnswer):
        asked_once(script)


def test_a_server_that_says_nothing_is_left_after_a_silence() -> None:
    clock = ManualClock()

    def script(call: Call) -> None:
        clock.advance(LIMITS.silent_seconds)
        call.wait_for_hang_up()

    with pytest.raises(NoAnswer, match="no answer in time"):
        asked_once(script, clock)


def test_an_answer_that_comes_slowly_is_waited_for_as_long_as_it_comes() -> None:
    clock = ManualClock()

    def script(call: Call) -> None:
        call.send(HEAD + b"content-length: 4\r\n\r\n")
        for piece in (b"s", b"l", b"o", b"w"):
            clock.advance(LIMITS.silent_seconds - 1)
            call.send(piece)

    assert asked_once(script, clock).content == b"slow"


def test_a_connection_is_used_again_until_the_server_may_have_closed_it() -> None:
    clock = ManualClock()

    async def ask_thrice(http: PlainHttp) -> None:
        await asked(http)
        await asked(http)
        clock.advance(IDLE_SECONDS)
        await asked(http)

    with closing(Engine(lambda call: call.answer(b"{}"))) as engine:
        run(ask_thrice, engine.port, clock)
        assert [call.number for call in engine.calls] == [0, 1, 0]


def test_a_connection_that_the_server_will_close_is_not_used_again() -> None:
    async def ask_twice(http: PlainHttp) -> None:
        await asked(http)
        await asked(http)

    with closing(Engine(lambda call: call.answer(b"{}", 200, "connection: close\r\n"))) as engine:
        run(ask_twice, engine.port)
        assert [call.number for call in engine.calls] == [0, 0]


def test_two_questions_at_once_take_two_connections() -> None:
    async def ask_both(http: PlainHttp) -> None:
        answers = await asyncio.gather(asked(http), asked(http))
        assert [each.content for each in answers] == [b"body", b"body"]

    with closing(Engine(lambda call: call.answer(call.body))) as engine:
        run(ask_both, engine.port)
        assert [call.number for call in engine.calls] == [0, 0]


def test_nobody_there_is_no_answer() -> None:
    with nobody_listens() as address, pytest.raises(NoAnswer, match="ConnectionRefusedError"):
        run(asked, int(address.rpartition(":")[2]))


@pytest.mark.parametrize("token", ["two\r\nlines", "žluť", "zero\0"])
def test_a_token_that_no_header_can_hold_is_not_sent(token: str) -> None:
    async def ask(http: PlainHttp) -> None:
        await http.ask("GET", "/", {"authorization": token}, b"", LIMITS)

    with closing(Engine(lambda call: call.answer(b"{}"))) as engine:
        with pytest.raises(NoAnswer, match="what HTTP cannot carry"):
            run(ask, engine.port)
        assert engine.calls == []


def test_a_certificate_is_held_against_the_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate = self_signed(tmp_path / "localhost.pem", "localhost")
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))

    async def ask(url: str) -> Answer:
        http = PlainHttp(url)
        try:
            return await http.ask("GET", "/file", {}, b"", LIMITS)
        finally:
            http.close()

    with ArchiveServer(certificate) as site:
        site.files["/file"] = b"there"
        assert asyncio.run(ask(site.url("", host="localhost"))).content == b"there"
        with pytest.raises(NoAnswer, match=ssl.SSLCertVerificationError.__name__):
            asyncio.run(ask(site.url("")))


def asked_once(script: Script, clock: Clock | None = None) -> Answer:
    with closing(Engine(script)) as engine:
        return run(asked, engine.port, clock)


def run(
    ask: Callable[[PlainHttp], Awaitable[Result]], port: int, clock: Clock | None = None
) -> Result:
    async def go() -> Result:
        http = PlainHttp(f"http://127.0.0.1:{port}/below", clock=clock or ManualClock())
        try:
            return await ask(http)
        finally:
            http.close()

    return asyncio.run(go())


async def asked(http: PlainHttp) -> Answer:
    return await http.ask("POST", "/this?a=b", {"x": "1"}, b"body", LIMITS)
