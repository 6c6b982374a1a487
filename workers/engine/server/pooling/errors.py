"""Refusals and failures: OpenAI's shape under `/v1`, a flat one on the other routes."""

import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from workers.engine.errors import RequestRefused
from workers.engine.pooling.encoding import TOO_LONG
from workers.engine.server import errors as generation
from workers.engine.server.pooling.compute import TOO_MANY

Handler = Callable[[Request, Exception], Awaitable[Response]]

TOO_LARGE = 413
"""What one request asks of a model at once is too much, and would be the next time."""

UNPROCESSABLE = 422
"""Clients of the flat routes never repeat a request that is answered so."""


async def refused(request: Request, error: Exception) -> Response:
    """Answer 413 for too much, else 400 or, on a flat route, 422."""
    assert isinstance(error, RequestRefused)
    answer = await generation.refused(request, error)
    if error.code in (TOO_LONG, TOO_MANY):
        answer.status_code = TOO_LARGE
    elif not _speaks_openai(request):
        answer.status_code = UNPROCESSABLE
    return answer


def flattening(handler: Handler) -> Handler:
    """Give back a handler whose answer has the shape of the route that was asked."""

    async def answer(request: Request, error: Exception) -> Response:
        written = await handler(request, error)
        if _speaks_openai(request) or not written.body:
            return written
        found: dict[str, Any] = json.loads(bytes(written.body))["error"]
        flat = {"error": found["message"], "error_type": found["type"], "param": found["param"]}
        kept = {name: value for name, value in written.headers.items() if name == "retry-after"}
        return JSONResponse(flat, written.status_code, headers=kept)

    return answer


def naming(routes: Sequence[str]) -> Handler:
    """Give back the handler of unknown paths and methods, which tells where the model answers."""

    async def unknown(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        detail = f"{error.detail}. This model answers at {', '.join(routes)}"
        return await generation.http_error(request, HTTPException(error.status_code, detail))

    return flattening(unknown)


def _speaks_openai(request: Request) -> bool:
    return request.url.path.startswith("/v1/")


HANDLERS: dict[Any, Any] = {
    kind: flattening(refused if kind is RequestRefused else handler)
    for kind, handler in generation.HANDLERS.items()
}
