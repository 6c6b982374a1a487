"""Whoever answers: what comes back has an end, and leads nowhere else."""

from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest

from tests.manual_clock import ManualClock
from tests.waiting import DEADLINE_SECONDS
from tests.workers.gateway.stage.engine import Call, Engine, Script
from workers.bounded_http import Answer, Limits, NoAnswer, ask, opened

HEAD = b"HTTP/1.1 200 OK\r\n"
CHUNKED = HEAD + b"transfer-encoding: chunked\r\n\r\n"
WITHOUT_END = {
    "a body to the close": (HEAD + b"\r\n", b"x" * 4096),
    "a body with a length": (HEAD + b"content-length: 900000000000000\r\n\r\n", b"x" * 4096),
    "chunks": (CHUNKED, b"10\r\n0123456789abcdef\r\n"),
    "a chunk": (CHUNKED + b"ffffffffffff\r\n", b"x" * 4096),
    "zeros before a chunk's size": (CHUNKED, b"0" * 4096),
    "trailers": (CHUNKED + b"0\r\n", b"x: y\r\n" * 100),
    "headers": (HEAD, b"x: y\r\n" * 100),
    "a header": (HEAD + b"x: ", b"y" * 4096),
    "interim answers": (b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 100),
}
MALFORMED = {
    "no HTTP": b"\x00\xff\r\n\r\n",
    "half a body": HEAD + b"content-length: 100\r\n\r\n{",
    "half a chunk": CHUNKED + b"10\r\nabc",
    "a negative chunk": CHUNKED + b"-5\r\nabc\r\n",
    "nothing": b"",
}
MOST_BYTES = 200_000


@contextmanager
def served(script: Script) -> Iterator[str]:
    with closing(Engine(script)) as engine:
        yield f"http://127.0.0.1:{engine.port}/path"


def limits(clock: ManualClock | None = None) -> Limits:
    return Limits(seconds=DEADLINE_SECONDS, most_bytes=MOST_BYTES, clock=clock or ManualClock())


@pytest.mark.parametrize(("begins", "goes_on"), WITHOUT_END.values(), ids=WITHOUT_END)
def test_an_answer_without_end_is_left(begins: bytes, goes_on: bytes) -> None:
    def script(call: Call) -> None:
        call.send(begins)
        while True:
            call.send(goes_on)

    with served(script) as url, pytest.raises(NoAnswer):
        ask("GET", url, limits=limits())


@pytest.mark.parametrize(("begins", "goes_on"), [(HEAD, b"x"), (HEAD + b"\r\n", b"x")])
def test_an_answer_that_comes_byte_by_byte_is_left_after_its_time(
    begins: bytes, goes_on: bytes
) -> None:
    clock = ManualClock()

    def script(call: Call) -> None:
        call.send(begins)
        while True:
            clock.advance(DEADLINE_SECONDS / 10)
            call.send(goes_on)

    with served(script) as url, pytest.raises(NoAnswer, match="no whole answer within 120 s"):
        ask("GET", url, limits=limits(clock))


@pytest.mark.parametrize("content", MALFORMED.values(), ids=MALFORMED)
def test_what_is_no_answer_is_told_as_such(content: bytes) -> None:
    def script(call: Call) -> None:
        call.send(content)
        call.connection.close()
        raise OSError

    with served(script) as url, pytest.raises(NoAnswer):
        ask("GET", url, limits=limits())


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_an_answer_and_nobody_else_is_asked(status: int) -> None:
    with closing(Engine(lambda call: call.answer(b"{}"))) as other:
        place = f"location: http://127.0.0.1:{other.port}/\r\n"
        with served(lambda call: call.answer(b"there", status, place)) as url:
            answer = ask("POST", url, limits=limits(), json_body={}, headers={"authorization": "x"})
        assert answer == Answer(status=status, content=b"there")
        assert other.calls == []


def test_a_whole_answer_comes_back_whatever_its_status_and_framing() -> None:
    def chunked(call: Call) -> None:
        call.send(CHUNKED + b"2\r\nhi\r\n0\r\nx-trailer: y\r\n\r\n")

    for script, answer in (
        (lambda call: call.answer(call.body, 418), Answer(status=418, content=b'{"a": 1}')),
        (chunked, Answer(status=200, content=b"hi")),
    ):
        with served(script) as url:
            assert ask("POST", f"{url}?q=1", limits=limits(), json_body={"a": 1}) == answer


def test_a_stream_is_there_piece_by_piece() -> None:
    def script(call: Call) -> None:
        call.send(CHUNKED + b"3\r\none\r\n")
        call.wait_for_hang_up()

    with served(script) as url, opened("GET", url, limits=limits()) as answering:
        assert next(answering.pieces()) == b"one"


@pytest.mark.parametrize("url", ["http://127.0.0.1:99999/", "http://", "http://127.0.0.1:x/"])
def test_an_address_that_is_none_is_no_answer(url: str) -> None:
    with pytest.raises(NoAnswer):
        ask("GET", url, limits=limits())
