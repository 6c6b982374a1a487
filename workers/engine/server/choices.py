"""The answers of one request as they grow, carried from the model thread."""

import asyncio
from dataclasses import dataclass, field
from functools import partial

from controlplane.domain.wire import Usage
from workers.engine.engine import Engine
from workers.engine.generation import FinishReason, Progress, TokenScore
from workers.engine.sequence import Sequence
from workers.engine.server.answer_check import AnswerCheck
from workers.engine.server.delta import Delta
from workers.engine.server.errors import EngineFailed
from workers.engine.server.prepare import Prepared
from workers.engine.server.spans import RequestSpans
from workers.engine.server.tools.reader import ChatReader

CALLED_TOOLS = "tool_calls"


@dataclass(slots=True, kw_only=True)
class Choice:
    index: int
    reader: ChatReader | None
    check: AnswerCheck
    delta: Delta = field(default_factory=Delta)
    scores: list[TokenScore] = field(default_factory=list)
    prompt_scores: tuple[TokenScore, ...] = ()
    completion_tokens: int = 0
    cached_tokens: int = 0
    reason: str | None = None

    def take(self, piece: Progress) -> Delta:
        """Read a piece; give back what it adds."""
        self.completion_tokens, self.cached_tokens = piece.completion_tokens, piece.cached_tokens
        self.scores += piece.scores
        self.prompt_scores = self.prompt_scores or piece.prompt_scores
        added = Delta(content=piece.text)
        if self.reader is not None:
            added = self.reader.push(piece.text)
            added += self.reader.finish() if piece.is_last else Delta()
        self.delta += added
        if piece.finish_reason is not None:
            is_call = self.delta.calls and piece.finish_reason == "stop"
            self.reason = CALLED_TOOLS if is_call else str(piece.finish_reason)
        return added

    def raise_if_broken(self) -> None:
        """Let pass what goes on, was cut, or holds to its schema. Raises: `AnswerBroken`."""
        if self.reason not in (None, FinishReason.LENGTH):
            self.check.raise_for(self.delta)


class Choices:
    """Every choice of a request; leaving them gives all rows back."""

    def __init__(
        self, engine: Engine, prepared: Prepared, spans: RequestSpans | None = None
    ) -> None:
        self.tells_scores = prepared.tells_scores
        self.all = [
            Choice(index=index, reader=prepared.make_reader(), check=prepared.check)
            for index in range(len(prepared.choices))
        ]
        self._prepared = prepared
        self._spans = spans
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[tuple[Choice, Progress]] = asyncio.Queue()
        self._sequences: list[Sequence] = []
        try:
            for choice, make in zip(self.all, prepared.choices, strict=True):
                self._sequences.append(engine.submit(make(report=partial(self._report, choice))))
        except BaseException:
            self.leave()
            raise

    @property
    def are_done(self) -> bool:
        return all(choice.reason is not None for choice in self.all)

    @property
    def usage(self) -> Usage:
        """Tokens so far; what was cached of a prompt counts once."""
        first_of_prompts = self.all[:: self._prepared.choices_per_prompt]
        return Usage(
            prompt_tokens=self._prepared.prompt_tokens,
            completion_tokens=sum(choice.completion_tokens for choice in self.all),
            cached_tokens=sum(choice.cached_tokens for choice in first_of_prompts),
        )

    async def next(self) -> tuple[Choice, Progress]:
        """Wait for a piece, which its choice has not yet taken. Raises: `EngineFailed`."""
        choice, piece = await self._queue.get()
        if piece.failure is not None:
            raise EngineFailed(piece.failure)
        return choice, piece

    async def finish(self) -> None:
        """Wait for all pieces. Raises: `EngineFailed`, `AnswerBroken`."""
        while not self.are_done:
            choice, piece = await self.next()
            choice.take(piece)
            choice.raise_if_broken()

    def leave(self) -> None:
        """Give the rows back; no effect on answers that have ended."""
        for sequence in self._sequences:
            sequence.cancel()
        if self._spans is not None:
            self._spans.ended(self._sequences)

    def _report(self, choice: Choice, piece: Progress) -> None:
        if self._spans is not None:
            self._spans.piece(choice.index, piece)
        self._loop.call_soon_threadsafe(self._queue.put_nowait, (choice, piece))
