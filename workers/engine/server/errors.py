"""Every refusal and failure in OpenAI's error shape."""

import logging
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from workers.engine.errors import QueueFull, RequestRefused

log = logging.getLogger(__name__)

RETRY_AFTER_SECONDS = 1
CLIENT_CLOSED_REQUEST = 499


class EngineFailed(Exception):
    """The model thread gave this request up; the message is fit for the client."""


def error_body(
    message: str, *, kind: str, field: str | None = None, code: str | None = None
) -> dict[str, Any]:
    """Give back the body that OpenAI clients turn into an exception."""
    return {"error": {"message": message, "type": kind, "param": field, "code": code}}


async def refused(request: Request, error: Exception) -> Response:
    """Answer 400: the request is at fault."""
    assert isinstance(error, RequestRefused)
    body = error_body(
        error.message, kind="invalid_request_error", field=error.field, code=error.code
    )
    return JSONResponse(body, 400)


async def queue_full(request: Request, error: Exception) -> Response:
    """Answer 429: come back later."""
    body = error_body(
        f"The engine is busy: {error}. Try again later.", kind="overloaded", code="queue_full"
    )
    return JSONResponse(body, 429, headers={"retry-after": str(RETRY_AFTER_SECONDS)})


async def engine_failed(request: Request, error: Exception) -> Response:
    """Answer 500: the row failed before its first piece was sent."""
    return JSONResponse(error_body(str(error), kind="server_error", code="engine_failed"), 500)


async def client_left(request: Request, error: Exception) -> Response:
    """Nobody reads this answer; the status is for the access log."""
    return Response(status_code=CLIENT_CLOSED_REQUEST)


async def http_error(request: Request, error: Exception) -> Response:
    """Answer an unknown path or method."""
    assert isinstance(error, HTTPException)
    message = f"{request.method} {request.url.path}: {error.detail}."
    return JSONResponse(error_body(message, kind="invalid_request_error"), error.status_code)


async def unexpected(request: Request, error: Exception) -> Response:
    """Answer 500: our fault; the log has the traceback."""
    log.error("a request failed", exc_info=error)
    message = "The engine failed on this request; its log has the reason."
    return JSONResponse(error_body(message, kind="server_error"), 500)


HANDLERS: dict[Any, Any] = {
    RequestRefused: refused,
    QueueFull: queue_full,
    EngineFailed: engine_failed,
    ClientDisconnect: client_left,
    HTTPException: http_error,
    Exception: unexpected,
}
