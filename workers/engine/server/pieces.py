"""The pieces of a request's answers, carried from the model thread."""

import asyncio
from collections.abc import Callable

from workers.engine.answer import Answer
from workers.engine.engine import Engine
from workers.engine.generation import Generation, Progress
from workers.engine.server.errors import EngineFailed
from workers.engine.server.prepare import Prepared


class Pieces:
    """Pieces of every choice as they come; leaving it gives all rows back."""

    def __init__(
        self, engine: Engine, prepared: Prepared, adapter: str | None, cache_salt: str
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[tuple[int, Progress]] = asyncio.Queue()
        self._answers: list[Answer] = []
        try:
            for index, choice in enumerate(prepared.choices):
                generation = Generation(
                    prompt=choice.prompt,
                    sampling=choice.sampling,
                    grammar=choice.grammar,
                    report=self._reporter(index),
                    adapter=adapter,
                    cache_salt=cache_salt,
                )
                self._answers.append(engine.submit(generation))
        except BaseException:
            self.leave()
            raise

    async def next(self) -> tuple[int, Progress]:
        """Wait for a piece; give back its choice beside it. Raises: `EngineFailed`."""
        index, piece = await self._queue.get()
        if piece.failure is not None:
            raise EngineFailed(piece.failure)
        return index, piece

    def leave(self) -> None:
        """Give the rows back; no effect on answers that have ended."""
        for answer in self._answers:
            answer.cancel()

    def _reporter(self, index: int) -> Callable[[Progress], None]:
        def report(piece: Progress) -> None:
            self._loop.call_soon_threadsafe(self._queue.put_nowait, (index, piece))

        return report
