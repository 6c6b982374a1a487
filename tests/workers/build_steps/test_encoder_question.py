"""Answers of an engine that pools, of which nothing can be told."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from workers.build_steps.encoder_question import ask_encoder
from workers.build_steps.failures import StepFailure


class _Handler(BaseHTTPRequestHandler):
    body = b""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-length", str(len(self.body)))
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, *_: Any) -> None: ...


@pytest.fixture
def engine() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("vectors", "said"),
    [
        ([[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]], "a vector is all zeros"),
        ([[1.0, 0.0], [float("nan"), 0.0], [0.0, 1.0]], "a vector is not finite"),
        ([[1.0, 0.0]], "expected 3, got 1"),
    ],
)
def test_vectors_of_no_use_are_told_with_the_reason(
    engine: str, monkeypatch: pytest.MonkeyPatch, vectors: list[list[float]], said: str
) -> None:
    answer = json.dumps({"data": [{"embedding": each} for each in vectors]}).encode()
    monkeypatch.setattr(_Handler, "body", answer)
    with pytest.raises(StepFailure) as caught:
        ask_encoder(engine, {"task": "embed"})
    assert caught.value.failure.code == "EHB-BAD-ANSWER"
    assert said in caught.value.failure.sentence
