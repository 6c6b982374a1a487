"""Asks an engine in this process, and Transformers for what the answer should be."""

from collections import abc
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from queue import SimpleQueue
from threading import Semaphore
from typing import Any

import torch
from transformers import AutoModelForCausalLM

from controlplane.clock import SYSTEM, Clock
from tests.waiting import DEADLINE_SECONDS
from workers.engine.engine import Engine
from workers.engine.generation import FinishReason, Generation, Progress, Sampling
from workers.engine.grammar import Grammar
from workers.engine.sequence import Sequence
from workers.engine.settings import EngineSettings

torch.set_num_threads(1)


def start_engine(checkpoint: Path, **settings: Any) -> Engine:
    """Give back a started engine that computes in float32 on one thread."""
    engine = make_engine(checkpoint, **settings)
    engine.start()
    return engine


def make_engine(checkpoint: Path, *, clock: Clock = SYSTEM, **settings: Any) -> Engine:
    """Give back an engine whose requests wait until it is started."""
    defaults: dict[str, Any] = {"dtype": "float32", "kv_cache_bytes": 4 << 20}
    return Engine(
        EngineSettings(model_dir=checkpoint, served_model_name="tiny", **{**defaults, **settings}),
        clock=clock,
    )


def report_of(settings: EngineSettings) -> dict[str, Any]:
    """Give back what an engine that was only loaded tells of itself."""
    engine = Engine(settings)
    engine.stop()
    return engine.report()


class Hold:
    """Lets an engine stand still within a step: inside a `with` block nothing moves.

    Given to a question as `on_piece`. The engine stands still at the question's first piece, and
    each further time two pieces later: a whole step has passed between two blocks.
    """

    def __init__(self, times: int = 1) -> None:
        self._stops = range(1, 2 * times, 2)
        self._pieces = 0
        self._held, self._released = Semaphore(0), Semaphore(0)

    def __call__(self, piece: Progress) -> None:
        """Stand still, or go on."""
        self._pieces += 1
        if self._pieces in self._stops:
            self._held.release()
            assert self._released.acquire(timeout=DEADLINE_SECONDS)

    def __enter__(self) -> None:
        assert self._held.acquire(timeout=DEADLINE_SECONDS)

    def __exit__(self, *exception: object) -> None:
        self._released.release()


class Asked:
    """A question under way; reading it waits for the engine."""

    def __init__(
        self,
        engine: Engine,
        prompt: abc.Sequence[int],
        *,
        grammar: Grammar | None = None,
        report: Callable[[Progress], None] | None = None,
        on_piece: Callable[[Progress], None] | None = None,
        generation: Mapping[str, Any] | None = None,
        **how: Any,
    ) -> None:
        self._pieces: SimpleQueue[Progress] = SimpleQueue()
        self._on_piece = on_piece
        self.answer: Sequence = engine.submit(
            Generation(
                prompt=prompt,
                sampling=Sampling(**{"max_tokens": 24, "temperature": 0.0, **how}),
                grammar=grammar,
                report=report or self._take,
                **(generation or {}),
            )
        )

    def _take(self, piece: Progress) -> None:
        # First, so that whoever has read the last piece finds all told.
        if self._on_piece is not None:
            self._on_piece(piece)
        self._pieces.put(piece)

    def pieces(self) -> Iterator[Progress]:
        """Give pieces as they come, the last one included."""
        while True:
            piece = self._pieces.get(timeout=DEADLINE_SECONDS)
            yield piece
            if piece.is_last:
                return

    def finish(self) -> "Asked":
        """Wait for the end and keep what was said."""
        pieces = list(self.pieces())
        self.text = "".join(piece.text for piece in pieces)
        self.failure: str | None = pieces[-1].failure
        self.reason: FinishReason | None = pieces[-1].finish_reason
        return self

    @property
    def tokens(self) -> list[int]:
        """The tokens generated so far."""
        return self.answer.tokens[len(self.answer.generation.prompt) :]


def transformers_greedy(
    checkpoint: Path, prompt: abc.Sequence[int], tokens: int, **how: Any
) -> list[int]:
    """Give back what `generate` continues a prompt with, taking the best token every time."""
    # Eager: the other kernel of Transformers 5.17 leaves Gemma 2's soft cap out.
    model = AutoModelForCausalLM.from_pretrained(
        checkpoint, dtype=torch.float32, attn_implementation="eager"
    )
    # Without a cache: that of 5.17 forgets the prompt of a Phi 3 where its long rope begins.
    how = {"use_cache": model.config.model_type != "phi3", **how}
    output = model.generate(
        torch.tensor([list(prompt)]), max_new_tokens=tokens, do_sample=False, pad_token_id=0, **how
    )
    return output[0, len(prompt) :].tolist()
