"""Answers that the gateway gives itself, in the shape that each kind of client reads."""

import json
from dataclasses import dataclass
from http import HTTPStatus

from controlplane.domain.wire import error_type, openai_error
from workers.gateway.snapshot import Deployment

REASONS = {status.value: status.phrase.encode() for status in HTTPStatus} | {
    499: b"Client Closed Request"
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Refusal:
    status: int
    code: str
    """For OpenAI clients."""
    error_code: str
    """For hosted clients, from their own list of codes."""
    message: str
    param: str | None = None
    """The field of the request that it is about."""
    retry_after_seconds: int | None = None
    allow: str | None = None
    closes: bool = False
    """Whether the connection ends with it, as nobody knows in which state it is."""


class Refused(Exception):
    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal


def body(refusal: Refusal, *, openai: bool) -> bytes:
    """Return the JSON body: OpenAI's object under /v1, the hosted product's string elsewhere.

    Both carry `error`, `error_code` and `detail`, so either kind of client finds the message.
    """
    error = _openai_body(refusal)["error"] if openai else refusal.message
    return json.dumps(
        {"error": error, "error_code": refusal.error_code, "detail": refusal.message}
    ).encode()


def event(refusal: Refusal) -> bytes:
    """Return the server-sent event that ends a stream which broke after its first byte."""
    return b"event: error\ndata: %b\n\n" % json.dumps(_openai_body(refusal)).encode()


def malformed(message: str, *, status: int = 400) -> Refusal:
    return Refusal(status=status, code="bad_request", error_code="client_error", message=message)


def not_found(message: str, code: str = "not_found") -> Refusal:
    return Refusal(status=404, code=code, error_code="model_does_not_exist", message=message)


def not_ready(message: str, *, retry_after_seconds: int) -> Refusal:
    return Refusal(
        status=503,
        code="model_not_ready",
        error_code="model_not_ready",
        message=message,
        retry_after_seconds=retry_after_seconds,
    )


def rate_limited(message: str, *, retry_after_seconds: int) -> Refusal:
    return Refusal(
        status=429,
        code="rate_limit_exceeded",
        error_code="rate_limited",
        message=message,
        retry_after_seconds=retry_after_seconds,
    )


def too_large(message: str, *, status: int = 413) -> Refusal:
    return Refusal(
        status=status, code="request_too_large", error_code="payload_too_large", message=message
    )


def timed_out(message: str, *, status: int = 504) -> Refusal:
    return Refusal(status=status, code="timeout", error_code="timeout", message=message)


def no_replica(deployment: Deployment) -> Refusal:
    """Return why nothing answers for `deployment` now, and when to ask again."""
    reason, retry_after_seconds = _NOT_READY.get(deployment.status, ("has no ready replica", 5))
    message = f"Deployment `{deployment.id}` {reason}. Send the request again later."
    return not_ready(message, retry_after_seconds=retry_after_seconds)


def not_awake(deployment: Deployment) -> Refusal:
    return not_ready(
        f"Deployment `{deployment.id}` was scaled to zero, and no replica became ready in the time "
        "that a request waits. It goes on starting: send the request again later.",
        retry_after_seconds=30,
    )


def waiting_room_full(deployment: Deployment, what: str) -> Refusal:
    return rate_limited(
        f"Deployment `{deployment.id}` is waking up, and {what} wait for it already. "
        "Send the request again in a moment.",
        retry_after_seconds=5,
    )


def queue_full(deployment: Deployment, what: str, retry_after_seconds: int) -> Refusal:
    """Return the refusal of one request too many to wait for a replica."""
    return rate_limited(
        f"All replicas of deployment `{deployment.id}` are busy, and {what} wait already. "
        f"Send the request again in {retry_after_seconds} s.",
        retry_after_seconds=retry_after_seconds,
    )


def deployment_full(deployment: Deployment, most: int, retry_after_seconds: int) -> Refusal:
    return rate_limited(
        f"Every replica of deployment `{deployment.id}` has the {most} requests that it carries at "
        "a time, and the deployment rejects what is more (`REJECT_ON_FULL`). Send the request "
        f"again in {retry_after_seconds} s.",
        retry_after_seconds=retry_after_seconds,
    )


def deadline_passed(*, was_asked: bool) -> Refusal:
    where = "was being answered" if was_asked else "waited, and no engine had seen it"
    return timed_out(
        "The deadline that the client set (`request-timeout-ms` or `request-deadline-ms`) passed "
        f"while the request {where}."
    )


_NOT_READY = {
    "SCALED_TO_ZERO": ("is scaled to zero: no replica runs", 30),
    "WAKING_UP": ("is waking up", 5),
    "BUILDING": ("is still being built", 30),
    "DEPLOYING": ("is still being deployed", 10),
    "LOADING_MODEL": ("is still loading its model", 5),
    "UNHEALTHY": ("is unhealthy", 10),
    "FAILED": ("has failed: look at its page for the cause", 60),
    "DEPLOY_FAILED": ("could not be deployed: look at its page for the cause", 60),
    "BUILD_FAILED": ("could not be built: look at its page for the cause", 60),
}
ENGINE_FAILED = Refusal(
    status=502,
    code="engine_failed",
    error_code="model_unavailable",
    message="The engine stopped while it was answering. The request was not repeated: "
    "it may have run in part. Send it again.",
)
ENGINES_FAILED = Refusal(
    status=502,
    code="engine_failed",
    error_code="model_unavailable",
    message="Two engines stopped while they had this request, one after the other. It was not sent "
    "to a third: perhaps it is what stops them. Send it again if it cannot be.",
)
GATEWAY_FAILED = Refusal(
    status=500,
    code="gateway_failed",
    error_code="server_error",
    message="The gateway failed on this request by a mistake of its own. Its log has the reason "
    "beside the id in `x-request-id`.",
    closes=True,
)
SHUTTING_DOWN = Refusal(
    status=503,
    code="gateway_stopping",
    error_code="model_unavailable",
    message="The gateway is restarting and had to end this request. Send it again.",
    retry_after_seconds=2,
)


def _openai_body(refusal: Refusal) -> dict[str, object]:
    type = error_type(refusal.status)
    return openai_error(refusal.message, type=type, code=refusal.code, param=refusal.param)
