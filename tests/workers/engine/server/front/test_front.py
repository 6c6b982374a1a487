"""The front speaks HTTP as clients do, and answers as the application behind it does."""

import asyncio
import json
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any

import pytest
import uvloop
from starlette.testclient import TestClient

from tests.waiting import DEADLINE_SECONDS, wait_for
from tests.workers.engine.pooling.encoders import make_encoder, write_sentence_files
from workers.engine.pooling.encoding import Cut
from workers.engine.pooling.engine import PoolingEngine
from workers.engine.server.front.bridge import Bridge
from workers.engine.server.front.connection import Connection
from workers.engine.server.front.exchange import Answered, ClientRequest
from workers.engine.server.front.server import Connections
from workers.engine.server.pooling.app import create_app, create_handler
from workers.engine.settings import EngineSettings

pytestmark = pytest.mark.engine
Peer = Callable[[], socket.socket]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PoolingEngine]:
    folder = write_sentence_files(
        make_encoder("Bert", tmp_path_factory.mktemp("bert")), {"pooling_mode": "mean"}
    )
    pooling_engine = PoolingEngine(
        EngineSettings(model_dir=folder, served_model_name="tiny", dtype="float32")
    )
    pooling_engine.start()
    yield pooling_engine
    pooling_engine.stop()


@contextmanager
def front(engine: PoolingEngine) -> Iterator[Peer]:
    """Give what connects to a front of the engine."""
    begun, at, ends = Event(), list[int](), list[Callable[[], object]]()

    async def serve() -> None:
        loop, end_requested = asyncio.get_running_loop(), asyncio.Event()
        handler, connections = create_handler(engine), Connections(loop.time)
        server = await loop.create_server(lambda: Connection(handler, connections), "127.0.0.1", 0)
        at.append(server.sockets[0].getsockname()[1])
        ends.append(lambda: loop.call_soon_threadsafe(end_requested.set))
        begun.set()
        await end_requested.wait()
        server.close()
        await connections.drain()

    def run() -> None:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(serve())

    thread = Thread(target=run)
    thread.start()
    assert begun.wait(DEADLINE_SECONDS)
    try:
        yield lambda: socket.create_connection(("127.0.0.1", at[0]), DEADLINE_SECONDS)
    finally:
        ends[0]()
        thread.join(DEADLINE_SECONDS)
        assert not thread.is_alive()


@pytest.fixture(scope="module")
def peer(engine: PoolingEngine) -> Iterator[Peer]:
    with front(engine) as outcome:
        yield outcome


def post(path: str, body: bytes, *more: str) -> bytes:
    lines = [f"POST {path} HTTP/1.1", "Host: x", f"Content-Length: {len(body)}", *more, "", ""]
    return "\r\n".join(lines).encode() + body


def answer(stream: socket.socket) -> tuple[int, dict[str, str], bytes]:
    """Read one whole answer."""
    read = b""
    while b"\r\n\r\n" not in read:
        read += _piece(stream)
    head, _, body = read.partition(b"\r\n\r\n")
    status, *lines = head.decode().split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines)
    while len(body) < int(headers["content-length"]):
        body += _piece(stream)
    assert len(body) == int(headers["content-length"])
    return int(status.split()[1]), headers, body


def _piece(stream: socket.socket) -> bytes:
    piece = stream.recv(1)
    assert piece, "the connection closed within an answer"
    return piece


BODIES = (
    {"input": "one text"},
    {"input": ["one", "two", "one"], "encoding_format": "base64"},
    {"input": [], "model": "x"},
    {"input": ["a"], "dimensions": 10_000},
    {"inputs": "wrong field"},
)


@pytest.mark.parametrize("path", ["/v1/embeddings", "/embed", "/nowhere", "/v1/nowhere"])
@pytest.mark.parametrize("sent", BODIES, ids=lambda sent: next(iter(sent)))
def test_an_answer_and_a_refusal_are_those_of_the_application(
    engine: PoolingEngine, peer: Peer, path: str, sent: dict[str, object]
) -> None:
    body = json.dumps(sent).encode()
    expected = TestClient(create_app(engine)).post(path, content=body)
    with peer() as stream:
        stream.sendall(post(path, body))
        status, headers, outcome = answer(stream)
    assert (status, json.loads(outcome)) == (expected.status_code, expected.json())
    names = ("content-type", "x-compute-tokens")
    assert [headers.get(name) for name in names] == [expected.headers.get(name) for name in names]


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[1]", b"\xff", b'{"input": "\\ud800"}', "\ufeff{}".encode()]
)
def test_what_is_no_request_is_told_in_the_same_words(
    engine: PoolingEngine, peer: Peer, body: bytes
) -> None:
    expected = TestClient(create_app(engine)).post("/v1/embeddings", content=body)
    with peer() as stream:
        stream.sendall(post("/v1/embeddings", body))
        status, _, outcome = answer(stream)
    assert (status, json.loads(outcome)) == (expected.status_code, expected.json())
    assert status == 400


def test_texts_that_are_the_same_are_computed_once_and_all_answered(
    engine: PoolingEngine, peer: Peer
) -> None:
    def read() -> int:
        lines = engine.metrics.expose().decode().splitlines()
        return int(next(float(x.split()[1]) for x in lines if x.startswith("engine_prompt_tokens")))

    before = read()
    with peer() as stream:
        stream.sendall(post("/v1/embeddings", b'{"input": ["sea", "def", "sea", "sea"]}'))
        _, _, outcome = answer(stream)
    content = json.loads(outcome)
    vectors = [each["embedding"] for each in content["data"]]
    assert vectors[0] == vectors[2] == vectors[3] != vectors[1]
    each = [len(row) for row in engine.encoder.encode(["sea", "def"], Cut(), field="x")]
    assert content["usage"]["total_tokens"] == 3 * each[0] + each[1]
    assert read() - before == sum(each)


def test_requests_in_one_piece_are_answered_in_their_order(peer: Peer) -> None:
    texts = ["one", "two two", "three three three"]
    with peer() as stream:
        alone = []
        for text in texts:
            stream.sendall(post("/embed", json.dumps({"inputs": text}).encode()))
            alone.append(answer(stream)[2])
        pieces = [post("/embed", json.dumps({"inputs": text}).encode()) for text in texts]
        stream.sendall(b"".join(pieces) + b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
        assert [answer(stream)[2] for _ in texts] == alone
        assert json.loads(answer(stream)[2]) == {"status": "ready"}


def test_a_body_comes_in_chunks_and_after_it_was_asked_for(peer: Peer) -> None:
    with peer() as stream:
        head = "POST /embed HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"
        stream.sendall(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
        target = b"HTTP/1.1 100 Continue\r\n\r\n"
        assert stream.recv(len(target), socket.MSG_WAITALL) == target
        stream.sendall(b'a\r\n{"inputs":\r\n6\r\n "sea"\r\n1\r\n}\r\n0\r\n\r\n')
        assert answer(stream)[0] == 200


@pytest.mark.parametrize(
    ("request_line", "closes"),
    [("GET /health HTTP/1.1", False), ("GET /health HTTP/1.0", True), ("HEAD /health HTTP/1.1", 0)],
)
def test_a_connection_is_kept_as_the_client_asks(
    peer: Peer, request_line: str, closes: bool
) -> None:
    with peer() as stream:
        stream.sendall(f"{request_line}\r\nHost: x\r\n\r\n".encode())
        if request_line.startswith("HEAD"):
            stream.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            whole = b"".join(iter(lambda: stream.recv(4096), b""))
            assert whole.count(b'{"status":"ready"}') == 1
            return
        assert answer(stream)[0] == 200
        if closes:
            assert stream.recv(1) == b""


def test_what_is_not_http_is_told_so_and_closed(peer: Peer) -> None:
    with peer() as stream:
        stream.sendall(b"EHLO example\r\n\r\n")
        assert answer(stream)[0] == 400
        assert stream.recv(1) == b""


def test_a_tunnel_is_refused_and_the_connection_closed(peer: Peer) -> None:
    with peer() as stream:
        stream.sendall(b"CONNECT example:443 HTTP/1.1\r\nHost: example\r\n\r\n")
        assert answer(stream)[0] == 405
        assert stream.recv(1) == b""


def test_more_requests_in_one_piece_than_calls_go_deep_are_answered(peer: Peer) -> None:
    many = sys.getrecursionlimit()
    with peer() as stream:
        waits, at_once = post("/embed", b'{"inputs": "sea"}'), post("/embed", b"{")
        stream.sendall(waits + many * at_once)
        assert [answer(stream)[0] for _ in range(many + 1)] == [200, *[422] * many]


def test_what_the_application_says_of_its_own_failure_is_sent() -> None:
    async def app(_scope: Any, _receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 503, "headers": [(b"a", b"b")]})
        await send({"type": "http.response.body", "body": b"why"})
        raise RuntimeError("for whoever is to log it")

    async def ask() -> Answered:
        answered = asyncio.get_running_loop().create_future()
        request = ClientRequest(method="GET", target=b"/x", version="1.1", headers=(), body=b"")
        Bridge(app)(request, answered.set_result)
        return await answered

    process = asyncio.run(ask())
    assert (process.status, process.headers, process.body) == (503, [(b"a", b"b")], b"why")


def test_an_upgrade_that_is_offered_is_declined_by_an_answer(peer: Peer) -> None:
    with peer() as stream:
        offer = ("Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: x")
        stream.sendall(post("/embed", b'{"inputs": "sea"}', *offer))
        assert answer(stream)[0] == 200


def test_who_leaves_is_not_computed(engine: PoolingEngine) -> None:
    may_go_on, has_begun = Event(), Event()
    start = engine._runner.start

    def held(rows: object) -> object:
        has_begun.set()
        assert may_go_on.wait(DEADLINE_SECONDS)
        return start(rows)

    engine._runner.start = held
    try:
        with front(engine) as peer, peer() as kept:
            kept.sendall(post("/embed", b'{"inputs": "sea"}'))
            assert has_begun.wait(DEADLINE_SECONDS)
            for _ in range(3):
                with peer() as leaving:
                    leaving.sendall(post("/embed", b'{"inputs": ["def", "one"]}'))
                    wait_for(lambda: len(engine._loop._requests) == 2, what="two requests")
                wait_for(lambda: len(engine._loop._requests) == 1, what="one request")
            may_go_on.set()
            assert answer(kept)[0] == 200
    finally:
        may_go_on.set()
        engine._runner.start = start
