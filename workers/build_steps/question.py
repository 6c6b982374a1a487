"""The one question of the smoke test, streamed and timed: to the model, and to each adapter."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from controlplane.clock import SYSTEM, Clock
from controlplane.domain.failures.registry import build
from controlplane.domain.json_text import read_json
from controlplane.domain.wire.events import EventDecoder
from workers.bounded_http import Limits, opened
from workers.bounded_http import ask as asked
from workers.build_steps.failures import StepFailure, bad_answer

QUESTION = "Say hello in one short sentence."
ANSWER_TOKENS = 16
_ANSWER_SECONDS = 300.0
"""Of a few tokens; the first answer of an engine may wait for a kernel to be compiled."""
_ANSWER_BYTES = 16 * 1024 * 1024
_ERROR_CHARACTERS = 2000


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What came back; the rate counts from the first token on, None for a single one."""

    text: str
    finish_reason: str | None
    first_token_seconds: float
    tokens_per_second: float | None


def ask(
    url: str,
    *,
    has_chat_template: bool,
    chosen_by: Mapping[str, Any] | None = None,
    clock: Clock = SYSTEM,
) -> Answer:
    """Return the engine's answer; raises StepFailure for a refusal or an empty stream.

    `chosen_by` holds the fields that pick an adapter; without them the model itself is asked.
    """
    try:
        return _ask(url, has_chat_template, chosen_by or {}, clock)
    except _Refused as refused:
        if has_chat_template and _answers_plain_text(url, chosen_by or {}, clock):
            raise StepFailure.of(build.TEMPLATE, reason=refused.reason) from None
        raise bad_answer(f"HTTP {refused.status}", refused.body) from None


class _Refused(Exception):
    """The engine answered with a status that is no success."""

    def __init__(self, status: int, body: str) -> None:
        super().__init__(body)
        self.status, self.body = status, body

    @property
    def reason(self) -> str:
        try:
            content = read_json(self.body)
            return str((content.get("error") or content)["message"])
        except (ValueError, KeyError, TypeError, AttributeError):
            return self.body


def _answers_plain_text(url: str, chosen_by: Mapping[str, Any], clock: Clock) -> bool:
    try:
        _ask(url, False, chosen_by, clock)
    except (_Refused, StepFailure):
        return False
    return True


def _ask(url: str, has_chat_template: bool, chosen_by: Mapping[str, Any], clock: Clock) -> Answer:
    route, body = _request(has_chat_template)
    started = clock.monotonic()
    pieces, tokens, first, reason = [], 0, None, None
    body |= {"model": _names(url, clock)[0], **chosen_by}
    for event in _stream(f"{url}{route}", body, clock):
        for choice in event.get("choices") or ():
            if first is None and _is_output(choice):
                first = clock.monotonic()
            pieces.append(_text(choice))
            reason = choice.get("finish_reason") or reason
        tokens = (event.get("usage") or {}).get("completion_tokens") or tokens
    if first is None or tokens < 1:
        raise bad_answer("the stream held no token", "")
    seconds = clock.monotonic() - first
    return Answer(
        text="".join(pieces),
        finish_reason=reason,
        first_token_seconds=round(first - started, 4),
        tokens_per_second=round((tokens - 1) / seconds, 2) if tokens > 1 and seconds > 0 else None,
    )


def check_is_listed(url: str, name: str) -> None:
    """Raise StepFailure where an engine does not offer a name that requests are to choose by."""
    names = _names(url, SYSTEM)
    if name not in names:
        raise bad_answer(f"it does not list `{name}`", f"/v1/models lists {', '.join(names)}")


def _names(url: str, clock: Clock) -> list[str]:
    answer = asked("GET", f"{url}/v1/models", limits=_limits(clock))
    content = answer.content.decode(errors="replace")[:_ERROR_CHARACTERS]
    if answer.status != HTTPStatus.OK:
        raise bad_answer(f"HTTP {answer.status} at /v1/models", content)
    try:
        names = [str(each["id"]) for each in read_json(answer.content)["data"]]
    except (ValueError, KeyError, TypeError) as error:
        raise bad_answer("its answer at /v1/models is no list of models", content) from error
    if not names:
        raise bad_answer("it lists no model", content)
    return names


def _limits(clock: Clock) -> Limits:
    return Limits(seconds=_ANSWER_SECONDS, most_bytes=_ANSWER_BYTES, clock=clock)


def _request(has_chat_template: bool) -> tuple[str, dict[str, Any]]:
    body: dict[str, Any] = {
        "max_tokens": ANSWER_TOKENS,
        "temperature": 0,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if has_chat_template:
        return "/v1/chat/completions", body | {"messages": [{"role": "user", "content": QUESTION}]}
    return "/v1/completions", body | {"prompt": QUESTION}


def _stream(url: str, body: dict[str, Any], clock: Clock) -> Iterator[dict[str, Any]]:
    decoder = EventDecoder()
    with opened("POST", url, limits=_limits(clock), json_body=body) as answering:
        if answering.status != HTTPStatus.OK:
            content = b"".join(answering.pieces()).decode(errors="replace")
            raise _Refused(answering.status, content[:_ERROR_CHARACTERS])
        for piece in answering.pieces():
            for data in decoder.feed(piece):
                if data == b"[DONE]":
                    return
                yield _event(data)


def _event(data: bytes) -> dict[str, Any]:
    shown = data.decode(errors="replace")[:_ERROR_CHARACTERS]
    try:
        event = read_json(data)
    except ValueError as error:
        raise bad_answer("an event of the stream is no JSON", shown) from error
    if not isinstance(event, dict):
        raise bad_answer("an event of the stream is no object", shown)
    if refusal := event.get("error"):
        raise bad_answer("the stream ended with an error", json.dumps(refusal)[:_ERROR_CHARACTERS])
    return event


def _is_output(choice: dict[str, Any]) -> bool:
    # The first event of a chat only names the role.
    return bool(_text(choice)) or choice.get("finish_reason") is not None


def _text(choice: dict[str, Any]) -> str:
    delta = choice.get("delta") or {}
    # A model that thinks may not have come to its answer within the tokens of the smoke test.
    thought = delta.get("reasoning") or delta.get("reasoning_content")
    return str(choice.get("text") or delta.get("content") or thought or "")
