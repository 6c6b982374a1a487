"""Questions to the control plane share connections, and one that was closed costs none."""

import asyncio
import ssl
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from controlplane.clock import SYSTEM
from tests.certificates import self_signed
from tests.waiting import wait_for
from tests.workers.gateway.stage.engine import Call, Engine
from workers.gateway.control_plane_calls import Answer, Calls, NoWholeAnswer, Question

QUESTION = Question(
    method="POST", path="usage", headers={"x-a": "b"}, params={"after": 7}, body=b"{}"
)


def test_a_question_arrives_whole_and_its_answer_comes_whole() -> None:
    with closing(Engine(lambda call: call.answer(b"a" * 100_000, 201, "x-Said: So\r\n"))) as engine:
        (answer,) = asked(f"http://127.0.0.1:{engine.port}/folder/", [QUESTION])
        (call,) = engine.calls
    assert (answer.status, answer.content) == (201, b"a" * 100_000)
    assert answer.headers["x-said"] == "So"
    assert (call.method, call.path, call.body) == ("POST", "/folder/usage?after=7", b"{}")
    assert (call.headers["x-a"], call.headers["host"]) == ("b", f"127.0.0.1:{engine.port}")


@pytest.mark.parametrize(("extra", "connections"), [("", 1), ("connection: close\r\n", 3)])
def test_a_connection_is_kept_unless_the_answer_says_otherwise(
    extra: str, connections: int
) -> None:
    with closing(Engine(lambda call: call.answer(b"{}", 200, extra))) as engine:
        answers = asked(f"http://127.0.0.1:{engine.port}", [QUESTION] * 3)
        assert [answer.content for answer in answers] == [b"{}"] * 3
        assert engine.connections == connections


def test_one_that_was_closed_without_a_word_is_replaced() -> None:
    def close_after(call: Call) -> None:
        call.answer(b"{}")
        call.connection.shutdown(2)

    with closing(Engine(close_after)) as engine:
        answers = asked(f"http://127.0.0.1:{engine.port}", [QUESTION] * 3, until_closed=True)
        assert len(answers) == len(engine.calls) == 3


def test_one_that_says_nothing_is_left() -> None:
    def say_nothing(call: Call) -> None:
        call.wait_for_hang_up()

    with closing(Engine(say_nothing)) as engine, pytest.raises(NoWholeAnswer, match="silent"):
        asked(f"http://127.0.0.1:{engine.port}", [QUESTION], silent_seconds=0.05)


def test_an_answer_that_is_cut_is_none() -> None:
    def cut(call: Call) -> None:
        call.send(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc")
        call.connection.shutdown(2)

    with closing(Engine(cut)) as engine, pytest.raises(NoWholeAnswer, match="no whole answer"):
        asked(f"http://127.0.0.1:{engine.port}", [QUESTION])


@pytest.mark.parametrize("is_trusted", [True, False])
def test_over_tls_only_one_whose_certificate_is_trusted_is_asked(
    is_trusted: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, other = (self_signed(tmp_path / name, "localhost") for name in ("own.pem", "other.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(own if is_trusted else other))

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"{}")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nyes")
        await reader.read()
        writer.close()

    async def ask() -> bytes:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(own)
        server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
        port = server.sockets[0].getsockname()[1]
        calls = Calls(f"https://localhost:{port}", connect_seconds=30, clock=SYSTEM)
        try:
            return (await calls.ask(QUESTION, silent_seconds=30, most_bytes=1000)).content
        finally:
            calls.close()
            server.close()

    if is_trusted:
        assert asyncio.run(ask()) == b"yes"
    else:
        with pytest.raises(NoWholeAnswer, match="no connection"):
            asyncio.run(ask())


def _is_open(calls: Calls) -> bool:
    return any(kept.is_open for kept in calls._upstream._idle)


def asked(
    url: str,
    questions: Sequence[Question],
    *,
    silent_seconds: float = 30,
    until_closed: bool = False,
) -> list[Answer]:
    """Return the answers to questions, one after the other; `until_closed` waits between them."""

    async def ask() -> list[Answer]:
        calls, answers = Calls(url, connect_seconds=30, clock=SYSTEM), []
        for each in questions:
            answers.append(await calls.ask(each, silent_seconds=silent_seconds, most_bytes=10**6))
            if until_closed:
                await asyncio.to_thread(
                    wait_for, lambda: not _is_open(calls), what="the end of the connection"
                )
        calls.close()
        return answers

    return asyncio.run(ask())
