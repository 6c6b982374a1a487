"""Carries an answer from the model thread to a client, until either is done."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from controlplane.domain.wire import DONE, encode_event, error_type, openai_error
from workers.engine.answer import Answer
from workers.engine.engine import Engine
from workers.engine.generation import Generation, Progress
from workers.engine.server.errors import EngineFailed
from workers.engine.server.fields import StreamOptions
from workers.engine.server.leaving import unless_client_leaves
from workers.engine.server.prepare import Prepared
from workers.engine.server.shapes import AnswerShape


class Pieces:
    """The pieces of one answer as they come; leaving it gives the row back."""

    def __init__(self, engine: Engine, prepared: Prepared) -> None:
        loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[Progress] = asyncio.Queue()
        generation = Generation(
            prompt=prepared.prompt,
            sampling=prepared.sampling,
            grammar=prepared.grammar,
            report=lambda piece: _hand_over(loop, self._queue, piece),
        )
        self._answer: Answer = engine.submit(generation)

    async def next(self) -> Progress:
        """Wait for a piece. Raises: `EngineFailed`."""
        piece = await self._queue.get()
        if piece.failure is not None:
            raise EngineFailed(piece.failure)
        return piece

    def leave(self) -> None:
        """Give the row back; no effect on an answer that has ended."""
        self._answer.cancel()


async def answer_whole(request: Request, pieces: Pieces, shape: AnswerShape) -> Response:
    """Give back the finished answer as one body."""
    try:
        text, last = await unless_client_leaves(request, _collect(pieces))
    finally:
        pieces.leave()
    return JSONResponse(shape.whole(text, str(last.finish_reason), last.completion_tokens))


async def answer_streamed(
    request: Request, pieces: Pieces, shape: AnswerShape, options: StreamOptions
) -> Response:
    """Give back a stream; what fails before the first token still gets its own status."""
    try:
        first = await unless_client_leaves(request, pieces.next())
    except BaseException:
        pieces.leave()
        raise
    return EventStream(_events(first, pieces, shape, options), pieces)


class EventStream(StreamingResponse):
    """Server-sent events whose row is free as soon as nobody reads them."""

    def __init__(self, content: AsyncIterator[bytes], pieces: Pieces) -> None:
        super().__init__(content, media_type="text/event-stream")
        self.headers["cache-control"] = "no-cache"
        self._pieces = pieces

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send until the end, or until the client leaves."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._pieces.leave()


def _hand_over(
    loop: asyncio.AbstractEventLoop, queue: "asyncio.Queue[Progress]", piece: Progress
) -> None:
    loop.call_soon_threadsafe(queue.put_nowait, piece)


async def _collect(pieces: Pieces) -> tuple[str, Progress]:
    text = ""
    while True:
        piece = await pieces.next()
        text += piece.text
        if piece.is_last:
            return text, piece


async def _events(
    first: Progress, pieces: Pieces, shape: AnswerShape, options: StreamOptions
) -> AsyncIterator[bytes]:
    opening = shape.opening()
    if opening is not None:
        yield encode_event(_with_usage(opening, shape, options, 0))
    piece = first
    try:
        while not piece.is_last:
            yield encode_event(_piece_chunk(piece, shape, options))
            piece = await pieces.next()
    except EngineFailed as error:
        yield encode_event(openai_error(str(error), type=error_type(500), code="engine_failed"))
        return
    yield encode_event(_piece_chunk(piece, shape, options))
    if options.include_usage:
        yield encode_event(shape.usage_chunk(piece.completion_tokens))
    yield DONE


def _piece_chunk(piece: Progress, shape: AnswerShape, options: StreamOptions) -> dict[str, Any]:
    chunk = shape.chunk(piece.text, piece.finish_reason)
    return _with_usage(chunk, shape, options, piece.completion_tokens)


def _with_usage(
    chunk: dict[str, Any], shape: AnswerShape, options: StreamOptions, completion_tokens: int
) -> dict[str, Any]:
    """OpenAI's rule: once usage is asked for, every chunk has the field, null but in the last."""
    if options.continuous_usage_stats:
        return {**chunk, "usage": shape.usage(completion_tokens)}
    return {**chunk, "usage": None} if options.include_usage else chunk
