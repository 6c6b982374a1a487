"""Every refusal and failure in OpenAI's error shape."""

import logging
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from controlplane.domain.wire import error_type, openai_error
from workers.engine.errors import QueueFull, RequestRefused

log = logging.getLogger(__name__)

RETRY_AFTER_SECONDS = 1
CLIENT_CLOSED_REQUEST = 499


class EngineFailed(Exception):
    """The model thread gave this request up; the message is fit for the client."""


async def refused(request: Request, error: Exception) -> Response:
    """Answer 400: the request is at fault."""
    assert isinstance(error, RequestRefused)
    return _answer(400, error.message, param=error.field, code=error.code)


async def queue_full(request: Request, error: Exception) -> Response:
    """Answer 429: come back later."""
    answer = _answer(429, f"The engine is busy: {error}. Try again later.", code="queue_full")
    answer.headers["retry-after"] = str(RETRY_AFTER_SECONDS)
    return answer


async def engine_failed(request: Request, error: Exception) -> Response:
    """Answer 500: the row failed before its first piece was sent."""
    return _answer(500, str(error), code="engine_failed")


async def client_left(request: Request, error: Exception) -> Response:
    """Nobody reads this answer; the status is for the access log."""
    return Response(status_code=CLIENT_CLOSED_REQUEST)


async def http_error(request: Request, error: Exception) -> Response:
    """Answer an unknown path or method."""
    assert isinstance(error, HTTPException)
    return _answer(error.status_code, f"{request.method} {request.url.path}: {error.detail}.")


async def unexpected(request: Request, error: Exception) -> Response:
    """Answer 500: our fault; the log has the traceback."""
    log.error("a request failed", exc_info=error)
    return _answer(500, "The engine failed on this request; its log has the reason.")


def _answer(
    status: int, message: str, *, param: str | None = None, code: str | None = None
) -> Response:
    body = openai_error(message, type=error_type(status), code=code, param=param)
    return JSONResponse(body, status)


HANDLERS: dict[Any, Any] = {
    RequestRefused: refused,
    QueueFull: queue_full,
    EngineFailed: engine_failed,
    ClientDisconnect: client_left,
    HTTPException: http_error,
    Exception: unexpected,
}
