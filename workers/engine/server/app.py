"""The engine's HTTP routes."""

import json
import time
from collections.abc import Mapping
from typing import Any

from prometheus_client import CONTENT_TYPE_LATEST
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from workers.engine.engine import Engine
from workers.engine.errors import RequestRefused
from workers.engine.server.answers import Pieces, answer_streamed, answer_whole
from workers.engine.server.errors import HANDLERS
from workers.engine.server.fields import (
    ChatFields,
    CompletionFields,
    GenerationFields,
    StreamOptions,
    read_fields,
)
from workers.engine.server.prepare import prepare
from workers.engine.server.shapes import AnswerShape, ChatShape, CompletionShape


def create_app(engine: Engine) -> Starlette:
    """Give back the application around a started engine."""
    routes = Routes(engine)
    return Starlette(
        routes=[
            Route("/health", routes.health),
            Route("/info", routes.info),
            Route("/metrics", routes.metrics),
            Route("/v1/models", routes.models),
            Route("/v1/chat/completions", routes.chat, methods=["POST"]),
            Route("/v1/completions", routes.completions, methods=["POST"]),
        ],
        exception_handlers=HANDLERS,
    )


class Routes:
    """Handlers that share one engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._started = int(time.time())

    async def health(self, request: Request) -> Response:
        """Ready for as long as the model thread lives."""
        if self._engine.is_alive:
            return JSONResponse({"status": "ready"})
        return JSONResponse({"status": "failed"}, 503)

    async def info(self, request: Request) -> Response:
        """What was really loaded and allocated."""
        return JSONResponse(self._engine.report())

    async def metrics(self, request: Request) -> Response:
        """Prometheus' page."""
        page = self._engine.metrics.expose()
        return Response(page, headers={"content-type": CONTENT_TYPE_LATEST})

    async def models(self, request: Request) -> Response:
        """The one model, under its served name."""
        model = {
            "id": self._engine.settings.served_model_name,
            "object": "model",
            "created": self._started,
            "owned_by": "enginehouse",
            "max_model_len": self._engine.max_seq_len,
        }
        return JSONResponse({"object": "list", "data": [model]})

    async def chat(self, request: Request) -> Response:
        """`/v1/chat/completions`."""
        return await self._answer(request, read_fields(ChatFields, await _body(request)), ChatShape)

    async def completions(self, request: Request) -> Response:
        """`/v1/completions`."""
        fields = read_fields(CompletionFields, await _body(request))
        return await self._answer(request, fields, CompletionShape)

    async def _answer(
        self, request: Request, fields: GenerationFields, shape: type[AnswerShape]
    ) -> Response:
        prepared = await run_in_threadpool(prepare, self._engine, fields)
        pieces = Pieces(self._engine, prepared)
        answer = shape(
            model=fields.model or self._engine.settings.served_model_name,
            prompt_tokens=len(prepared.prompt),
        )
        if fields.stream:
            options = fields.stream_options or StreamOptions()
            return await answer_streamed(request, pieces, answer, options)
        return await answer_whole(request, pieces, answer)


async def _body(request: Request) -> Mapping[str, Any]:
    try:
        body = json.loads(await request.body())
    except ValueError as error:
        raise RequestRefused(f"The body is not JSON: {error}.") from None
    if not isinstance(body, dict):
        raise RequestRefused(f"The body is a JSON {type(body).__name__}; send an object.")
    return body
