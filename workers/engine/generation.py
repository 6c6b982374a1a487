"""One request as the engine sees it, and what it tells back."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from workers.engine.grammar import Grammar


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """How the tokens of an answer are chosen, and when it ends."""

    max_tokens: int
    """Zero ends with the prompt, whose scores are all that is asked for."""
    temperature: float = 1.0
    """Zero takes the best token every time."""
    top_p: float = 1.0
    top_k: int = 0
    """Zero keeps the whole vocabulary."""
    min_p: float = 0.0
    """Tokens less likely than this share of the likeliest are left out."""
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    repetition_penalty: float = 1.0
    """Also for tokens of the prompt, where the other two look at the answer alone."""
    logit_bias: Mapping[int, float] = field(default_factory=dict)
    seed: int | None = None
    stop: tuple[str, ...] = ()
    stop_tokens: frozenset[int] = frozenset()
    ignore_eos: bool = False
    min_tokens: int = 0
    """No end and no stop token comes before so many."""
    top_logprobs: int | None = None
    """How many of the likeliest tokens are told beside each chosen one; absent: tell nothing."""
    prompt_logprobs: int | None = None
    """The same beside each token of the prompt."""
    shows_special_tokens: bool = False


class FinishReason(StrEnum):
    """Why an answer ended, in OpenAI's words."""

    STOP = "stop"
    LENGTH = "length"


@dataclass(frozen=True, kw_only=True)
class TokenScore:
    """A token with what the model gave it, before any setting of the request."""

    token: int
    logprob: float | None
    """None for a prompt's first token, which nothing comes before."""
    rank: int | None = None
    """1 for the likeliest."""
    likeliest: tuple[tuple[int, float], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Progress:
    """A piece of an answer; the last one carries why it ended, or what failed."""

    text: str
    completion_tokens: int
    cached_tokens: int = 0
    """Of the prompt, those that another row had computed."""
    scores: tuple[TokenScore, ...] = ()
    """Of the tokens since the piece before, where the request asks for them."""
    prompt_scores: tuple[TokenScore, ...] = ()
    """Of all tokens of the prompt, with the first piece, where the request asks for them."""
    finish_reason: FinishReason | None = None
    failure: str | None = None

    @property
    def is_last(self) -> bool:
        return self.finish_reason is not None or self.failure is not None


@dataclass(frozen=True, kw_only=True)
class Generation:
    prompt: Sequence[int]
    sampling: Sampling
    report: Callable[[Progress], None]
    """Called by the model thread for every piece; must not block."""
    grammar: Grammar | None = None
    adapter: str | None = None
    cache_salt: str = ""
    """Prompts share cached beginnings only where this text is the same."""
    echo: str | None = None
    """What is told before the answer, its tokens' scores with those of the answer."""
