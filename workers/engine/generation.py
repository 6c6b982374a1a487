"""One request as the engine sees it, and what it tells back."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from workers.engine.grammar import Grammar


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """How the tokens of an answer are chosen, and when it ends."""

    max_tokens: int
    temperature: float = 1.0
    """Zero takes the best token every time."""
    top_p: float = 1.0
    top_k: int = 0
    """Zero keeps the whole vocabulary."""
    seed: int | None = None
    stop: tuple[str, ...] = ()
    ignore_eos: bool = False


class FinishReason(StrEnum):
    """Why an answer ended, in OpenAI's words."""

    STOP = "stop"
    LENGTH = "length"


@dataclass(frozen=True, kw_only=True)
class Progress:
    """A piece of an answer; the last one carries why it ended, or what failed."""

    text: str
    completion_tokens: int
    finish_reason: FinishReason | None = None
    failure: str | None = None

    @property
    def is_last(self) -> bool:
        """Whether nothing follows."""
        return self.finish_reason is not None or self.failure is not None


@dataclass(frozen=True, kw_only=True)
class Generation:
    """What one request asks of the engine."""

    prompt: Sequence[int]
    sampling: Sampling
    report: Callable[[Progress], None]
    """Called by the model thread for every piece; must not block."""
    grammar: Grammar | None = None
