"""The client on the wire: answers as engines and gateways give them, whole or not."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from controlplane.clock import SYSTEM
from controlplane.domain.benchmarks.timings import Timed
from workers.benchmarking.answers import Answer
from workers.benchmarking.connection import Client

ROLE = b'data: {"choices":[{"delta":{"role":"assistant","content":""}}]}\n\n'
WORD = b'data: {"choices":[{"delta":{"content":"Hi"}}]}\n\n'
USAGE = b'data: {"choices":[],"usage":{"prompt_tokens":12,"completion_tokens":34}}\n\n'
DONE = b"data: [DONE]\n\n"


def streamed(*events: bytes) -> bytes:
    parts = b"".join(b"%x\r\n%b\r\n" % (len(each), each) for each in events)
    return b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n" + parts + b"0\r\n\r\n"


def whole(body: bytes, status: bytes = b"200 OK", *lines: bytes) -> bytes:
    head = b"\r\n".join([b"HTTP/1.1 " + status, b"content-length: %d" % len(body), *lines])
    return head + b"\r\n\r\n" + body


class Conversation:
    """A server that answers what it is told to, in turn, and counts who comes."""

    def __init__(self, *answers: bytes | None) -> None:
        self.answers, self.connections, self.heads = list(answers), 0, []

    async def serve(self, reader: Any, writer: Any) -> None:
        self.connections += 1
        while self.answers and (head := await reader.readuntil(b"\r\n\r\n")):
            self.heads.append(head)
            await reader.readexactly(2)
            answer = self.answers.pop(0)
            if answer is None:
                break
            writer.write(answer)
        writer.close()


def talk(server: Conversation, asks: int, *, is_stream: bool = True) -> list[Timed]:
    async def run() -> list[Timed]:
        listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
        port = listening.sockets[0].getsockname()[1]
        client = Client(
            f"http://127.0.0.1:{port}/m/x/sync", headers={"x-mark": "benchmark"}, clock=SYSTEM
        )
        reports = []
        for _ in range(asks):
            timed = Timed(due_at=SYSTEM.monotonic())
            await client.ask(
                client.written("/v1/c", b"{}"), Answer(timed, is_stream=is_stream), seconds=20
            )
            reports.append(timed)
        client.close()
        listening.close()
        return reports

    return asyncio.run(run())


def test_a_stream_tells_its_first_token_and_its_counts_and_its_line_is_used_again():
    server = Conversation(streamed(ROLE, WORD, USAGE, DONE), streamed(ROLE, WORD, USAGE, DONE))

    first, second = talk(server, 2)

    assert (first.prompt_tokens, first.completion_tokens, first.error) == (12, 34, None)
    assert first.due_at < first.first_at <= first.ended_at < second.ended_at
    assert server.connections == 1
    assert server.heads[0].startswith(b"POST /m/x/sync/v1/c HTTP/1.1\r\n")
    assert b"x-mark: benchmark\r\n" in server.heads[0]


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (lambda: whole(b'{"message":"No room."}', b"503 Busy"), "HTTP 503: No room."),
        (lambda: whole(b"", b"500 Oh"), "HTTP 500"),
        (lambda: streamed(ROLE, WORD), "the stream broke off"),
        (lambda: None, "connection reset"),
        (lambda: b"hello\r\n\r\n", "connection reset"),
        (lambda: streamed(WORD)[:-7], "connection reset"),
    ],
)
def test_what_is_no_whole_answer_is_an_error(answer: Callable[[], bytes | None], error: str):
    (timed,) = talk(Conversation(answer()), 1)

    assert timed.error is not None
    assert (
        timed.error.replace("ConnectionResetError: an answer that is no HTTP", "connection reset")
        == error
    )
    assert timed.ended_at is not None


def test_answers_that_come_whole_have_counts_of_their_body_or_of_a_header():
    vectors = whole(b'{"data":[{"embedding":[0.5]}],"usage":{"prompt_tokens":9,"total_tokens":9}}')
    scores = whole(b'[{"index":0,"score":0.5}]', b"200 OK", b"x-compute-tokens: 40")

    first, second = talk(Conversation(vectors, scores), 2, is_stream=False)

    assert (first.prompt_tokens, second.prompt_tokens) == (9, 40)
    assert first.first_at is None
    assert (first.error, second.error) == (None, None)


def test_a_server_that_is_not_there_is_an_error():
    async def run() -> Timed:
        listening = await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0)
        port = listening.sockets[0].getsockname()[1]
        listening.close()
        await listening.wait_closed()
        timed = Timed(due_at=0.0)
        client = Client(f"http://127.0.0.1:{port}", headers={}, clock=SYSTEM)
        await client.ask(b"", Answer(timed, is_stream=False), seconds=20)
        return timed

    assert asyncio.run(run()).error == "connection refused"
