"""Asks turn after turn, several at once, and notes what the engine says it had cached."""

import json
import random
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPResponse

from benchmarks.gateway_parts.processes import KEY
from benchmarks.prefix_choice_parts.routes import PATH
from benchmarks.prefix_choice_parts.shapes import Message, Shape, said

PATIENCE_SECONDS = 120


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What one request found."""

    prompt_tokens: int
    cached_tokens: int
    first_token_seconds: float


def ask_all(port: int, shape: Shape, words: random.Random) -> list[Asked]:
    """Return what every request of the shape found; a turn of all ends before the next begins."""
    talks, outcome = shape.talks(words), []
    with ThreadPoolExecutor(shape.at_once) as clients:
        for _ in range(shape.turns):
            for talk in talks:
                talk.append({"role": "user", "content": said(words, shape.turn_words)})
            order = words.sample(talks, len(talks))
            report = clients.map(lambda talk: _ask(port, talk, shape.answer_tokens), order)
            for talk, (request, answer) in zip(order, report, strict=True):
                talk.append({"role": "assistant", "content": answer})
                outcome.append(request)
    return outcome


def wait_for_routes(port: int) -> None:
    """Return once the gateway serves."""
    patience = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < patience:
        connection = HTTPConnection("127.0.0.1", port, timeout=5)
        connection.request("GET", "/health")
        if connection.getresponse().status == 200:
            return
        time.sleep(0.05)
    raise SystemExit("the gateway got no routes")


def _ask(port: int, messages: list[Message], tokens: int) -> tuple[Asked, str]:
    connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE_SECONDS)
    body = {
        "messages": messages, "stream": True, "max_tokens": tokens, "temperature": 0,
        "stream_options": {"include_usage": True},
    }  # fmt: skip
    headers = {"authorization": f"Bearer {KEY}", "content-type": "application/json"}
    started = time.monotonic()
    connection.request("POST", PATH, json.dumps(body), headers)
    answer = connection.getresponse()
    if answer.status != 200:
        raise SystemExit(f"status {answer.status}: {answer.read()[:300]!r}")
    try:
        return _read(answer, started)
    finally:
        connection.close()


def _read(answer: HTTPResponse, started: float) -> tuple[Asked, str]:
    first, text, usage = None, "", {}
    while line := answer.readline():
        if not line.startswith(b"data: {"):
            continue
        event = json.loads(line[6:])
        usage = event.get("usage") or usage
        for choice in event["choices"]:
            piece = choice["delta"].get("content") or ""
            if piece and first is None:
                first = time.monotonic() - started
            text += piece
    cached = usage["prompt_tokens_details"]["cached_tokens"]
    return Asked(
        prompt_tokens=usage["prompt_tokens"],
        cached_tokens=cached,
        first_token_seconds=first if first is not None else time.monotonic() - started,
    ), text
