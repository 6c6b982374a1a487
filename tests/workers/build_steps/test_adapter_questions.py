"""What the smoke test asks of an artifact's adapters, of engines that offer them and of others."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from controlplane.domain.spec import Spec
from tests.workers.build_steps.supervising import spec_of
from workers.build_steps.adapter_questions import ask_adapters
from workers.build_steps.failures import StepFailure

MODEL = Path("/models/tiny")


class Engine(ThreadingHTTPServer):
    """Lists names, and answers every completion with one token and the names it was asked for."""

    def __init__(self, *names: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.names = names
        self.asked: list[dict[str, Any]] = []
        self.url = f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: Engine

    def do_GET(self) -> None:
        self._answer(json.dumps({"data": [{"id": name} for name in self.server.names]}))

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.asked.append(body)
        event = {
            "choices": [{"text": body["model"], "finish_reason": "stop"}],
            "usage": {"completion_tokens": 1},
        }
        self._answer(f"data: {json.dumps(event)}\n\ndata: [DONE]\n\n")

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def _answer(self, text: str) -> None:
        self.send_response(200)
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())


@pytest.fixture
def engine() -> Iterator[Engine]:
    with Engine("tiny", "legal") as outcome:
        thread = threading.Thread(target=outcome.serve_forever, args=(0.02,))
        thread.start()
        yield outcome
        outcome.shutdown()
        thread.join()


def _spec(*names: str, **accelerated: Any) -> Spec:
    place = {"source": "LOCAL", "repo": "/checkpoints/one"}
    stored = spec_of("tiny", lora_adapters=dict.fromkeys(names, place))
    return Spec.model_validate(stored | accelerated)


def _ask(engine: Engine, spec: Spec) -> list[dict[str, Any]]:
    return ask_adapters(spec, MODEL, engine.url, has_chat_template=False)


def test_each_adapter_is_asked_by_its_name(engine: Engine) -> None:
    (report,) = _ask(engine, _spec("legal"))
    assert (report["name"], report["answer"]) == ("legal", "legal")
    assert _ask(engine, Spec.model_validate(spec_of("tiny"))) == []


def test_an_engine_that_does_not_offer_an_adapter_fails_the_build(engine: Engine) -> None:
    with pytest.raises(StepFailure, match="does not list `polite`") as caught:
        _ask(engine, _spec("legal", "polite"))
    assert caught.value.failure.code == "EHB-BAD-ANSWER"
    assert caught.value.failure.detail == "/v1/models lists tiny, legal"


def test_tensorrt_llm_is_told_the_adapters_folder(engine: Engine) -> None:
    spec = _spec("legal", enginehouse={"runtime": "trtllm"})
    _ask(engine, spec)
    (request,) = engine.asked
    assert request["model"] == "tiny"
    assert request["lora_request"] == {
        "lora_name": "legal", "lora_int_id": 1, "lora_path": "/models/tiny/adapters/legal",
    }  # fmt: skip
