"""The body of `async_predict`: defaults, limits and what is said of what is wrong."""

import json

import pytest

from controlplane.domain.async_requests.asking import AskProblem, read_ask


def test_only_the_input_is_needed_and_the_rest_has_the_documented_defaults() -> None:
    ask = read_ask(b'{"model_input": {"prompt": "\\u00fc"}}')
    assert json.loads(ask.model_input) == {"prompt": "ü"}
    assert ask.model_input.isascii()
    assert (ask.webhook_endpoint, ask.priority, ask.queue_seconds) == ("", 0, 600)
    assert (ask.max_attempts, ask.initial_delay_ms, ask.max_delay_ms) == (3, 1000, 5000)


def test_every_limit_is_taken_and_one_beyond_is_not() -> None:
    for name, least, most in (("priority", 0, 2), ("max_time_in_queue_seconds", 10, 259_200)):
        for value in (least, most):
            read_ask(json.dumps({"model_input": {}, name: value}))
        for value in (least - 1, most + 1, True, 1.5, "1"):
            with pytest.raises(AskProblem, match=f"`{name}` is"):
                read_ask(json.dumps({"model_input": {}, name: value}))
    for name, least, most in (
        ("max_attempts", 1, 10), ("initial_delay_ms", 0, 10_000), ("max_delay_ms", 0, 60_000),
    ):  # fmt: skip
        for value in (least, most):
            read_ask(json.dumps({"model_input": {}, "inference_retry_config": {name: value}}))
        for value in (least - 1, most + 1):
            with pytest.raises(AskProblem, match=f"`inference_retry_config.{name}` is"):
                read_ask(json.dumps({"model_input": {}, "inference_retry_config": {name: value}}))


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"{", "is not JSON"),
        (b"[" * 5000, "is not JSON"),
        (b"[1]", "no JSON object"),
        (b"{}", "`model_input` is missing"),
        (b'{"model_input": {}, "priorty": 1}', "no field `priorty`"),
        (b'{"model_input": {"stream": true}}', "has no stream"),
        (b'{"model_input": {}, "inference_retry_config": 3}', "is no object"),
        (b'{"model_input": {}, "webhook_endpoint": "http://example.com/"}', "https://"),
        (b'{"model_input": {}, "webhook_endpoint": "https://a:b@example.com/"}', "holds a login"),
        (b'{"model_input": {}, "webhook_endpoint": "https://[::1/"}', "https://"),
        (b'{"model_input": {}, "webhook_endpoint": 5}', "`5`"),
    ],
)
def test_what_is_wrong_is_said_where_it_is(body: bytes, words: str) -> None:
    with pytest.raises(AskProblem) as caught:
        read_ask(body)
    assert words in str(caught.value)


def test_localhost_needs_no_certificate() -> None:
    ask = read_ask(b'{"model_input": {}, "webhook_endpoint": "http://localhost:9000/hook"}')
    assert ask.webhook_endpoint == "http://localhost:9000/hook"
