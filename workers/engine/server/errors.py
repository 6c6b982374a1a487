"""Every refusal and failure: in OpenAI's error shape, or on the routes of pooling in a flat one."""

import logging
from collections.abc import Mapping
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from controlplane.domain.wire import error_type, openai_error
from workers.engine.errors import INPUT_TOO_LONG, TOO_MANY_INPUTS, QueueFull, RequestRefused
from workers.engine.server.answer_check import AnswerBroken

log = logging.getLogger(__name__)

RETRY_AFTER = {"retry-after": "1"}
CLIENT_CLOSED_REQUEST = 499
UNPROCESSABLE = 422
"""Clients never repeat a request that is answered so."""


class EngineFailed(Exception):
    """The model thread gave this request up; the message is fit for the client."""


def error_handlers(*, has_flat_routes: bool = False) -> Mapping[Any, Any]:
    """Give back what answers for each kind of error; flat are all routes outside of `/v1`."""

    async def answer(request: Request, error: Exception) -> Response:
        if isinstance(error, ClientDisconnect):  # nobody reads it: it is for the access log
            return Response(status_code=CLIENT_CLOSED_REQUEST)
        if isinstance(error, HTTPException):
            error = _no_route(request, error)
        is_flat = has_flat_routes and not request.url.path.startswith("/v1/")
        status, body = refusal(error, is_flat=is_flat)
        return JSONResponse(body, status, RETRY_AFTER if status == 429 else None)

    kinds = (
        RequestRefused, QueueFull, EngineFailed, AnswerBroken, ClientDisconnect, HTTPException,
        Exception,
    )  # fmt: skip
    return dict.fromkeys(kinds, answer)


def failure_body(error: EngineFailed | AnswerBroken) -> dict[str, Any]:
    status, code = _failed(error)
    return openai_error(str(error), type=error_type(status), code=code)


def refusal(error: Exception, *, is_flat: bool) -> tuple[int, dict[str, Any]]:
    status, message, code = _status_and_words(error)
    if is_flat and status == 400:
        status = UNPROCESSABLE
    kind, param = error_type(status), getattr(error, "field", None)
    if is_flat:
        return status, {"error": message, "error_type": kind, "param": param}
    return status, openai_error(message, type=kind, code=code, param=param)


def _no_route(request: Request, error: HTTPException) -> HTTPException:
    served = [route.path for route in request.app.routes if "POST" in route.methods]
    place = f"{request.method} {request.url.path}: {error.detail}."
    return HTTPException(error.status_code, f"{place} This model answers at {', '.join(served)}.")


def _status_and_words(error: Exception) -> tuple[int, str, str | None]:
    match error:
        case RequestRefused(code=code):
            # Too much for one request of this model, and it would be the next time.
            is_too_large = code in (INPUT_TOO_LONG, TOO_MANY_INPUTS)
            return 413 if is_too_large else 400, str(error), code
        case QueueFull():
            return 429, f"The engine is busy: {error}. Try again later.", "queue_full"
        case EngineFailed() | AnswerBroken():
            status, code = _failed(error)
            return status, str(error), code
        case HTTPException():
            return error.status_code, error.detail, None
    log.error("a request failed", exc_info=error)
    return 500, "The engine failed on this request; its log has the reason.", None


def _failed(error: EngineFailed | AnswerBroken) -> tuple[int, str]:
    if isinstance(error, AnswerBroken):
        return UNPROCESSABLE, "schema_not_held"
    return 500, "engine_failed"
