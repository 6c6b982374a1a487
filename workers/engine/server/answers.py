"""Gives answers out, whole or as they come, until they end or their client leaves."""

from collections.abc import AsyncIterator
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from controlplane.domain.wire import DONE, encode_event
from workers.engine.generation import Progress
from workers.engine.server.answer_check import AnswerBroken
from workers.engine.server.choices import Choice, Choices
from workers.engine.server.errors import EngineFailed, failure_body
from workers.engine.server.fields import StreamOptions
from workers.engine.server.leaving import unless_client_leaves
from workers.engine.server.shapes import Shape


async def answer_whole(request: Request, choices: Choices, shape: Shape) -> Response:
    try:
        await unless_client_leaves(request, choices.finish())
    finally:
        choices.leave()
    return JSONResponse(shape.whole(choices))


async def answer_streamed(
    request: Request, choices: Choices, shape: Shape, options: StreamOptions
) -> Response:
    """Give back a stream; what fails before the first token still gets its own status."""
    try:
        first = await unless_client_leaves(request, choices.next())
    except BaseException:
        choices.leave()
        raise
    return EventStream(first, choices, shape, options)


class EventStream(StreamingResponse):
    """Server-sent events whose rows are free as soon as nobody reads them."""

    def __init__(
        self, first: tuple[Choice, Progress], choices: Choices, shape: Shape, options: StreamOptions
    ) -> None:
        headers = {"cache-control": "no-cache"}
        super().__init__(self._events(first), headers=headers, media_type="text/event-stream")
        self._choices, self._shape, self._options = choices, shape, options

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send until the end, or until the client leaves."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._choices.leave()

    async def _events(self, piece: tuple[Choice, Progress]) -> AsyncIterator[bytes]:
        for choice in self._choices.all:
            if (opening := self._shape.opening(choice.index)) is not None:
                yield self._event(opening)
        try:
            while True:
                if (chunk := self._chunk(*piece)) is not None:
                    yield self._event(chunk)
                piece[0].raise_if_broken()
                if self._choices.are_done:
                    break
                piece = await self._choices.next()
        except (EngineFailed, AnswerBroken) as error:
            yield encode_event(failure_body(error))
            return
        if self._options.include_usage:
            counts = self._choices.usage.to_json()
            yield encode_event({**self._shape.chunk(), "usage": counts})
        yield DONE

    def _chunk(self, choice: Choice, piece: Progress) -> dict[str, Any] | None:
        offset = len(choice.delta.content)
        added = choice.take(piece)
        if not (added or piece.scores or choice.reason):
            return None
        return self._shape.choice(
            choice.index, added, choice.reason, piece.scores or None, offset=offset
        )

    def _event(self, choice: dict[str, Any]) -> bytes:
        """Once usage is asked for, OpenAI's chunks all have the field, null but in the last."""
        chunk = self._shape.chunk(choice)
        if self._options.continuous_usage_stats:
            chunk["usage"] = self._choices.usage.to_json()
        elif self._options.include_usage:
            chunk["usage"] = None
        return encode_event(chunk)
