"""Bytes on the wire."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.domain.wire import (
    DONE,
    EventDecoder,
    Usage,
    encode_comment,
    encode_event,
    error_type,
    openai_error,
)


def test_an_error_has_the_shape_that_openai_clients_read() -> None:
    body = openai_error("No.", type=error_type(404), code="model_not_found", param="model")
    assert body == {
        "error": {
            "message": "No.", "type": "not_found_error", "param": "model",
            "code": "model_not_found",
        }
    }  # fmt: skip
    assert error_type(503) == "server_error"
    assert error_type(418) == "invalid_request_error"


@given(
    st.lists(st.dictionaries(st.text(max_size=3), st.text(max_size=10), max_size=2), max_size=4),
    st.integers(1, 7),
)
def test_events_survive_any_break_between_chunks(payloads: list[Any], size: int) -> None:
    stream = b"".join([encode_comment("ping"), *map(encode_event, payloads), DONE])
    decoder = EventDecoder()
    chunks = [stream[at : at + size] for at in range(0, len(stream), size)]
    events = [event for chunk in chunks for event in decoder.feed(chunk)]
    assert [json.loads(event) for event in events[:-1]] == payloads
    assert events[-1] == b"[DONE]"


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_line_ends_of_two_characters_survive_any_break(size: int) -> None:
    stream = b": ping\r\n\r\ndata: x\r\ndata: y\r\n\r\ndata: z\n\ndata: begun"
    decoder = EventDecoder()
    chunks = [stream[at : at + size] for at in range(0, len(stream), size)]
    assert [event for chunk in chunks for event in decoder.feed(chunk)] == [b"x\ny", b"z"]


def test_named_events_and_other_line_ends() -> None:
    assert encode_event("a\r\nb", event="log", event_id="7") == (
        b"id: 7\nevent: log\ndata: a\ndata: b\n\n"
    )
    assert list(EventDecoder().feed(b"data: x\r\ndata: y\r\n\r\n")) == [b"x\ny"]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"prompt_tokens": 3, "completion_tokens": 4}, (3, 4, 0)),
        ({"prompt_tokens": 3, "completion_tokens": 4,
          "prompt_tokens_details": {"cached_tokens": 2}}, (3, 4, 2)),
        ({"prompt_tokens": -1, "completion_tokens": 4}, None),
        ({"prompt_tokens": True, "completion_tokens": 4}, None),
        (None, None),
    ],
)  # fmt: skip
def test_usage_is_read_when_it_makes_sense(given: Any, expected: Any) -> None:
    usage = Usage.from_json(given)
    outcome = usage and (usage.prompt_tokens, usage.completion_tokens, usage.cached_tokens)
    assert outcome == expected


def test_usage_is_written_with_its_total() -> None:
    written = Usage(prompt_tokens=3, completion_tokens=4).to_json()
    assert written["total_tokens"] == 7
    assert Usage.from_json(written) == Usage(prompt_tokens=3, completion_tokens=4)
