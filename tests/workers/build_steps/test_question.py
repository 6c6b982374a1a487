"""What a refused question says of whom."""

import json
import threading
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tests.workers.gateway.stage.engine import Call, Script
from tests.workers.gateway.stage.engine import Engine as StandIn
from workers.bounded_http import NoAnswer
from workers.build_steps.failures import StepFailure
from workers.build_steps.question import ask


class Engine(ThreadingHTTPServer):
    """Answers on the routes that it is told to, and refuses with words on the others."""

    def __init__(self, *routes: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.routes = routes
        self.url = f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: Engine

    def do_GET(self) -> None:
        self._answer(200, json.dumps({"data": [{"id": "tiny"}]}))

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        if self.path not in self.server.routes:
            self._answer(400, json.dumps({"error": {"message": "roles must alternate"}}))
            return
        event = {"choices": [{"text": "hi", "finish_reason": "stop"}],
                 "usage": {"completion_tokens": 1}}  # fmt: skip
        self._answer(200, f"data: {json.dumps(event)}\n\ndata: [DONE]\n\n")

    def log_message(self, *_: Any) -> None: ...

    def _answer(self, status: int, text: str) -> None:
        self.send_response(status)
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())


@pytest.fixture
def engine(request: pytest.FixtureRequest) -> Iterator[str]:
    with Engine(*request.param) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield server.url
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("engine", [["/v1/completions"]], indirect=True)
def test_a_conversation_that_is_refused_where_plain_text_is_answered_is_the_templates_fault(
    engine: str,
) -> None:
    with pytest.raises(StepFailure, match="chat template refuses") as caught:
        ask(engine, has_chat_template=True)
    failure = caught.value.failure
    assert (failure.code, failure.blame) == ("EHB-TEMPLATE", "checkpoint")
    assert "roles must alternate" in failure.sentence


@pytest.mark.parametrize("engine", [[]], indirect=True)
def test_an_engine_that_refuses_plain_text_as_well_has_no_template_to_blame(engine: str) -> None:
    with pytest.raises(StepFailure, match="HTTP 400") as caught:
        ask(engine, has_chat_template=True)
    assert caught.value.failure.code == "EHB-BAD-ANSWER"
    assert "roles must alternate" in (caught.value.failure.detail or "")


def endless(call: Call) -> None:
    call.send(b"HTTP/1.1 200 OK\r\n\r\n")
    while True:
        call.send(b"x" * 65536)


def endless_event(call: Call) -> None:
    if call.method == "GET":
        call.answer({"data": [{"id": "tiny"}]})
    else:
        endless(call)


@pytest.mark.parametrize("script", [endless, endless_event])
def test_an_engine_that_answers_without_end_is_left(script: Script) -> None:
    with closing(StandIn(script)) as engine, pytest.raises(NoAnswer, match="more than"):
        ask(f"http://127.0.0.1:{engine.port}", has_chat_template=False)


@pytest.mark.parametrize("models", [b"<html>", b"[]", b"{}", b'{"data":[]}', b"[" * 100_000])
def test_a_list_of_models_that_is_none_is_a_bad_answer(models: bytes) -> None:
    with (
        closing(StandIn(lambda call: call.answer(models))) as engine,
        pytest.raises(StepFailure, match=r"/v1/models|lists no model"),
    ):
        ask(f"http://127.0.0.1:{engine.port}", has_chat_template=False)


@pytest.mark.parametrize("event", [b"data: nonsense\n\n", b"data: []\n\n", b"data: 7\n\n"])
def test_an_event_that_is_none_is_a_bad_answer(event: bytes) -> None:
    def script(call: Call) -> None:
        call.answer(b'{"data":[{"id":"tiny"}]}' if call.method == "GET" else event)

    with (
        closing(StandIn(script)) as engine,
        pytest.raises(StepFailure, match="an event of the stream is no"),
    ):
        ask(f"http://127.0.0.1:{engine.port}", has_chat_template=False)


@pytest.mark.parametrize("name", ["reasoning", "reasoning_content"])
def test_a_model_that_still_thinks_when_its_tokens_end_has_answered(name: str) -> None:
    event = {
        "choices": [{"delta": {name: "The user greets"}, "finish_reason": "length"}],
        "usage": {"completion_tokens": 16},
    }

    def script(call: Call) -> None:
        call.answer(
            b'{"data":[{"id":"tiny"}]}'
            if call.method == "GET"
            else f"data: {json.dumps(event)}\n\ndata: [DONE]\n\n".encode()
        )

    with closing(StandIn(script)) as engine:
        answer = ask(f"http://127.0.0.1:{engine.port}", has_chat_template=True)
    assert (answer.text, answer.finish_reason) == ("The user greets", "length")
