"""The HTTP routes of an engine that makes text."""

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from workers.engine.engine import Engine
from workers.engine.server.answers import answer_streamed, answer_whole
from workers.engine.server.body import read_body
from workers.engine.server.choices import Choices
from workers.engine.server.errors import error_handlers
from workers.engine.server.fields import ChatFields, CompletionFields
from workers.engine.server.prepare import prepare
from workers.engine.server.shapes import ChatShape, Shape
from workers.engine.server.spans import Traces
from workers.engine.server.status import status_routes


def create_app(engine: Engine, traces: Traces | None = None) -> Starlette:
    """Give back the application around a started engine; `traces` tells of requests."""

    async def chat(request: Request) -> Response:
        return await answer(request, await read_body(ChatFields, request), ChatShape)

    async def completions(request: Request) -> Response:
        return await answer(request, await read_body(CompletionFields, request), Shape)

    async def answer(
        request: Request, fields: ChatFields | CompletionFields, kind: type[Shape]
    ) -> Response:
        prepared = await run_in_threadpool(prepare, engine, fields)
        traceparent = request.headers.get("traceparent")
        spans = None if traces is None else traces.begin(traceparent, request.url.path)
        choices = Choices(engine, prepared, spans)
        shape = kind(
            model=fields.model or engine.settings.served_model_name,
            token_bytes=engine.grammars.token_bytes,
        )
        if fields.stream:
            return await answer_streamed(request, choices, shape, fields.stream_options)
        return await answer_whole(request, choices, shape)

    return Starlette(
        routes=[
            *status_routes(engine),
            Route("/v1/chat/completions", chat, methods=["POST"]),
            Route("/v1/completions", completions, methods=["POST"]),
        ],
        exception_handlers=error_handlers(),
    )
