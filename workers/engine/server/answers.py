"""Gives answers out, whole or as they come, until they end or their client leaves."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from controlplane.domain.wire import DONE, encode_event, error_type, openai_error
from workers.engine.generation import Progress, TokenScore
from workers.engine.server.delta import Delta, Reader, join
from workers.engine.server.errors import EngineFailed
from workers.engine.server.fields import StreamOptions
from workers.engine.server.leaving import unless_client_leaves
from workers.engine.server.pieces import Pieces
from workers.engine.server.prepare import Prepared
from workers.engine.server.shapes import AnswerShape, Used

CALLED_TOOLS = "tool_calls"


@dataclass(slots=True)
class Choice:
    """One choice of an answer as it grows."""

    reader: Reader
    deltas: list[Delta] = field(default_factory=list)
    scores: list[TokenScore] = field(default_factory=list)
    told_characters: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    has_called: bool = False
    reason: str | None = None

    def take(self, piece: Progress) -> Delta:
        """Read a piece; give back what it adds."""
        self.completion_tokens = piece.completion_tokens
        self.cached_tokens = piece.cached_tokens
        added = self.reader.push(piece.text)
        if piece.is_last:
            added = _both(added, self.reader.finish())
        self.has_called = self.has_called or bool(added.calls)
        if piece.finish_reason is not None:
            is_call = self.has_called and piece.finish_reason == "stop"
            self.reason = CALLED_TOOLS if is_call else str(piece.finish_reason)
        return added


async def answer_whole(
    request: Request, pieces: Pieces, prepared: Prepared, shape: AnswerShape
) -> Response:
    """Give back the finished answer as one body."""
    try:
        choices = await unless_client_leaves(request, _collect(pieces, prepared))
    finally:
        pieces.leave()
    bodies = [
        shape.choice(
            index,
            join(choice.deltas),
            str(choice.reason),
            choice.scores if prepared.tells_scores else None,
        )
        for index, choice in enumerate(choices)
    ]
    return JSONResponse(shape.whole(bodies, _used(choices, prepared)))


async def answer_streamed(
    request: Request,
    pieces: Pieces,
    prepared: Prepared,
    shape: AnswerShape,
    options: StreamOptions,
) -> Response:
    """Give back a stream; what fails before the first token still gets its own status."""
    try:
        first = await unless_client_leaves(request, pieces.next())
    except BaseException:
        pieces.leave()
        raise
    return EventStream(_events(first, pieces, prepared, shape, options), pieces)


class EventStream(StreamingResponse):
    """Server-sent events whose rows are free as soon as nobody reads them."""

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


async def _collect(pieces: Pieces, prepared: Prepared) -> list[Choice]:
    choices = _choices(prepared)
    while not _are_done(choices):
        index, piece = await pieces.next()
        choices[index].deltas.append(choices[index].take(piece))
        choices[index].scores.extend(piece.scores)
    return choices


async def _events(
    first: tuple[int, Progress],
    pieces: Pieces,
    prepared: Prepared,
    shape: AnswerShape,
    options: StreamOptions,
) -> AsyncIterator[bytes]:
    choices = _choices(prepared)
    for index in range(len(choices)):
        if (opening := shape.opening(index)) is not None:
            yield encode_event(_with_usage(opening, shape, options, Used()))
    index, piece = first
    try:
        while True:
            if (chunk := _chunk(index, choices[index], piece, shape)) is not None:
                used = _used(choices, prepared)
                yield encode_event(_with_usage(chunk, shape, options, used))
            if _are_done(choices):
                break
            index, piece = await pieces.next()
    except EngineFailed as error:
        yield encode_event(openai_error(str(error), type=error_type(500), code="engine_failed"))
        return
    if options.include_usage:
        yield encode_event(shape.usage_chunk(_used(choices, prepared)))
    yield DONE


def _chunk(
    index: int, choice: Choice, piece: Progress, shape: AnswerShape
) -> dict[str, Any] | None:
    """One piece as a chunk, or nothing where it adds nothing yet."""
    offset = choice.told_characters
    added = choice.take(piece)
    choice.told_characters += len(added.content)
    if not (added or piece.scores or choice.reason):
        return None
    return shape.chunk(index, added, choice.reason, piece.scores, offset)


def _with_usage(
    chunk: dict[str, Any], shape: AnswerShape, options: StreamOptions, used: Used
) -> dict[str, Any]:
    """OpenAI's rule: once usage is asked for, every chunk has the field, null but in the last."""
    if options.continuous_usage_stats:
        return {**chunk, "usage": shape.usage(used)}
    return {**chunk, "usage": None} if options.include_usage else chunk


def _choices(prepared: Prepared) -> list[Choice]:
    return [Choice(reader=prepared.make_reader()) for _ in prepared.choices]


def _are_done(choices: list[Choice]) -> bool:
    return all(choice.reason is not None for choice in choices)


def _used(choices: list[Choice], prepared: Prepared) -> Used:
    return Used(
        sum(choice.completion_tokens for choice in choices),
        sum(choice.cached_tokens for choice in choices[:: prepared.choices_per_prompt]),
    )


def _both(first: Delta, second: Delta) -> Delta:
    """Two deltas as one; parts of one call stay apart, in their order."""
    return replace(
        first,
        content=first.content + second.content,
        reasoning=first.reasoning + second.reasoning,
        calls=first.calls + second.calls,
    )
