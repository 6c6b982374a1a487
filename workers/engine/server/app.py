"""The engine's HTTP routes."""

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from workers.engine.engine import Engine
from workers.engine.server.answers import answer_streamed, answer_whole
from workers.engine.server.body import read_body
from workers.engine.server.errors import HANDLERS
from workers.engine.server.fields import (
    ChatFields,
    CompletionFields,
    GenerationFields,
    StreamOptions,
    read_fields,
)
from workers.engine.server.pieces import Pieces
from workers.engine.server.prepare import prepare
from workers.engine.server.shapes import AnswerShape, ChatShape, CompletionShape
from workers.engine.server.status import StatusRoutes


def create_app(engine: Engine) -> Starlette:
    """Give back the application around a started engine."""
    routes = Routes(engine)
    return Starlette(
        routes=[
            *StatusRoutes(engine).routes(),
            Route("/v1/chat/completions", routes.chat, methods=["POST"]),
            Route("/v1/completions", routes.completions, methods=["POST"]),
        ],
        exception_handlers=HANDLERS,
    )


class Routes:
    """Handlers that share one engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def chat(self, request: Request) -> Response:
        """`/v1/chat/completions`."""
        return await self._answer(
            request, read_fields(ChatFields, await read_body(request)), ChatShape
        )

    async def completions(self, request: Request) -> Response:
        """`/v1/completions`."""
        fields = read_fields(CompletionFields, await read_body(request))
        return await self._answer(request, fields, CompletionShape)

    async def _answer(
        self, request: Request, fields: GenerationFields, shape: type[AnswerShape]
    ) -> Response:
        prepared = await run_in_threadpool(prepare, self._engine, fields)
        adapter = fields.model if fields.model in self._engine.adapter_names else None
        pieces = Pieces(self._engine, prepared, adapter, fields.cache_salt or "")
        answer = shape(
            model=fields.model or self._engine.settings.served_model_name,
            prompt_tokens=prepared.prompt_tokens,
            token_bytes=self._engine.grammars.token_bytes,
        )
        if fields.stream:
            options = fields.stream_options or StreamOptions()
            return await answer_streamed(request, pieces, prepared, answer, options)
        return await answer_whole(request, pieces, prepared, answer)
