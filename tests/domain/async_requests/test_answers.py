"""What an answer means for the request: an end, another attempt, or the queue again."""

import json

import pytest

from controlplane.domain.async_requests.answers import Next, attempt_of, delay_seconds


@pytest.mark.parametrize(
    ("status", "error_code", "then", "code"),
    [
        (200, "", Next.END, None),
        (400, "client_error", Next.END, "MODEL_INVALID_INPUT"),
        (404, "model_does_not_exist", Next.END, "MODEL_DOES_NOT_EXIST"),
        (422, "", Next.END, "MODEL_INVALID_INPUT"),
        (500, "", Next.RETRY, "MODEL_PREDICT_ERROR"),
        (502, "model_unavailable", Next.RETRY, "MODEL_UNAVAILABLE"),
        (503, "", Next.RETRY, "MODEL_UNAVAILABLE"),
        (504, "timeout", Next.RETRY, "MODEL_PREDICT_TIMEOUT"),
        (429, "rate_limited", Next.WAIT, "MODEL_UNAVAILABLE"),
        (503, "model_not_ready", Next.WAIT, "MODEL_NOT_READY"),
        (503, "model_unavailable", Next.WAIT, "MODEL_NOT_READY"),
    ],
)
def test_each_status_has_its_documented_code(
    status: int, error_code: str, then: Next, code: str | None
) -> None:
    body = json.dumps({"error": "no", "error_code": error_code}).encode()
    attempt = attempt_of(status, body)
    assert (attempt.next, attempt.code) == (then, code)
    assert attempt.output == (json.dumps(json.loads(body)) if status == 200 else None)


def test_delays_double_up_to_the_most() -> None:
    delays = [delay_seconds(each, initial_delay_ms=1000, max_delay_ms=5000) for each in range(1, 6)]
    assert delays == [1, 2, 4, 5, 5]


def test_a_full_model_says_when_to_come_again_within_reason() -> None:
    waits = [attempt_of(429, b"", retry_after=each).wait_seconds for each in ("", "7", "9999", "x")]
    assert waits == [2, 7, 60, 2]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"error": {"message": "nested"}}', "nested"),
        (b'{"detail": "in detail"}', "in detail"),
        (b"plain \xff\x00 text", "plain \ufffd\\x00 text"),
        (b"", "The model answered 500 without a word."),
        (b"[1]", "[1]"),
    ],
)
def test_the_message_is_found_whoever_wrote_it(content: bytes, message: str) -> None:
    assert attempt_of(500, content).message == message


def test_an_output_that_is_no_json_is_kept_as_text() -> None:
    assert attempt_of(200, b"a\xffb").output == '"a\\ufffdb"'
