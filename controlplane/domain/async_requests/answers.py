"""What the answer to an attempt means: an outcome, another attempt, or the queue again."""

import json
from dataclasses import dataclass
from enum import StrEnum
from http import HTTPStatus
from typing import Any

from controlplane.domain.async_requests.states import ErrorCode
from controlplane.domain.json_text import read_json
from controlplane.domain.storable import spelled

_LONGEST_MESSAGE = 2000
_LONGEST_WAIT_SECONDS = 60.0
_WAIT_SECONDS = 2.0


class Next(StrEnum):
    END = "end"
    RETRY = "retry"
    """The attempt counts, and the next one waits as `inference_retry_config` says."""
    WAIT = "wait"
    """The model was not asked: it is full, asleep or away. That is no attempt."""


@dataclass(frozen=True, kw_only=True)
class Attempt:
    next: Next
    code: ErrorCode | None = None
    message: str = ""
    wait_seconds: float = 0.0
    output: str | None = None
    """The model's output as JSON, where it gave one."""

    @property
    def error(self) -> dict[str, str] | None:
        return None if self.code is None else {"code": self.code, "message": self.message}


def attempt_of(status: int, content: bytes, *, retry_after: str = "") -> Attempt:
    if status < HTTPStatus.MULTIPLE_CHOICES:
        return Attempt(next=Next.END, output=_output(content))
    message, error_code = _message_and_code(content)
    message = message or f"The model answered {status} without a word."
    if status == HTTPStatus.TOO_MANY_REQUESTS or _is_refused_by_gateway(status, error_code):
        return waiting(message, seconds=_seconds(retry_after), code=_waiting_code(status))
    code = _CODES.get(status, _code_of_class(status))
    is_passing = status >= HTTPStatus.INTERNAL_SERVER_ERROR
    return Attempt(next=Next.RETRY if is_passing else Next.END, code=code, message=message)


def waiting(
    message: str, *, seconds: float = _WAIT_SECONDS, code: ErrorCode = ErrorCode.UNAVAILABLE
) -> Attempt:
    """Return the outcome of a request that goes back to the queue, for a reason that will pass."""
    return Attempt(next=Next.WAIT, code=code, message=message, wait_seconds=seconds)


def broken_off(message: str) -> Attempt:
    """Return the outcome of an answer that broke off: the model may have run."""
    return Attempt(next=Next.RETRY, code=ErrorCode.INTERNAL, message=message)


def too_long(message: str) -> Attempt:
    """Return the outcome of a request that was not answered in the time that it may run."""
    return Attempt(next=Next.RETRY, code=ErrorCode.PREDICT_TIMEOUT, message=message)


def delay_seconds(attempts: int, *, initial_delay_ms: int, max_delay_ms: int) -> float:
    """Return how long to wait after so many attempts: twice as long each time, up to the most."""
    return min(initial_delay_ms * 2.0 ** max(attempts - 1, 0), max_delay_ms) / 1000


_CODES = {
    404: ErrorCode.DOES_NOT_EXIST,
    422: ErrorCode.INVALID_INPUT,
    502: ErrorCode.UNAVAILABLE,
    503: ErrorCode.UNAVAILABLE,
    504: ErrorCode.PREDICT_TIMEOUT,
}
_OF_THE_GATEWAY = frozenset({"model_not_ready", "model_unavailable"})


def _code_of_class(status: int) -> ErrorCode:
    is_ours = status >= HTTPStatus.INTERNAL_SERVER_ERROR
    return ErrorCode.PREDICT_ERROR if is_ours else ErrorCode.INVALID_INPUT


def _is_refused_by_gateway(status: int, error_code: str) -> bool:
    """Whether the gateway itself said no: no replica, or it starts or stops."""
    return status == HTTPStatus.SERVICE_UNAVAILABLE and error_code in _OF_THE_GATEWAY


def _waiting_code(status: int) -> ErrorCode:
    is_full = status == HTTPStatus.TOO_MANY_REQUESTS
    return ErrorCode.UNAVAILABLE if is_full else ErrorCode.NOT_READY


def _output(content: bytes) -> str:
    try:
        return json.dumps(read_json(content))
    except ValueError:
        return json.dumps(content.decode("utf-8", "replace"))


def _message_and_code(content: bytes) -> tuple[str, str]:
    try:
        data: Any = read_json(content)
    except ValueError:
        return spelled(content.decode("utf-8", "replace"))[:_LONGEST_MESSAGE], ""
    if not isinstance(data, dict):
        return spelled(json.dumps(data))[:_LONGEST_MESSAGE], ""
    error = data.get("error")
    nested = error.get("message") if isinstance(error, dict) else error
    words = data.get("detail") or nested or data.get("message")
    text = words if isinstance(words, str) else json.dumps(data)
    return spelled(text)[:_LONGEST_MESSAGE], str(data.get("error_code") or "")


def _seconds(retry_after: str) -> float:
    seconds = float(retry_after) if retry_after.isdecimal() and len(retry_after) < 6 else 0.0
    return min(max(seconds, _WAIT_SECONDS), _LONGEST_WAIT_SECONDS)
