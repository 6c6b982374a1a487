import math

import torch
from torch import Tensor

from workers.engine.errors import RowFailed
from workers.engine.generation import Sampling

LEAST_TEMPERATURE = 1e-5
"""Below it the best token is taken: scores divided by less are no numbers any more."""
FIRST_LOOK = 256
"""Tokens sorted before the whole vocabulary is: the nucleus is nearly always among them."""


class Sampler:
    """One row's choices; a seed makes them repeatable whatever its neighbours do."""

    def __init__(self, sampling: Sampling) -> None:
        self._sampling = sampling
        self._generator = torch.Generator()
        if sampling.seed is None:
            self._generator.seed()
        else:
            self._generator.manual_seed(sampling.seed)

    def choose(self, logits: Tensor) -> int:
        """Give back a token. Shape: `[vocabulary]`, forbidden tokens at minus infinity."""
        best = int(logits.argmax())
        if not torch.isfinite(logits[best]):
            raise RowFailed("the model's scores for the next token are not numbers")
        if self._sampling.temperature < LEAST_TEMPERATURE:
            return best
        scores, tokens = _keep_top_k(logits / self._sampling.temperature, self._sampling.top_k)
        scores, tokens = _keep_top_p(scores, tokens, self._sampling.top_p)
        scores, tokens = _keep_min_p(scores, tokens, self._sampling.min_p)
        drawn = torch.multinomial(scores.softmax(-1), 1, generator=self._generator)
        return int(tokens[drawn])


def _keep_top_k(scores: Tensor, top_k: int) -> tuple[Tensor, Tensor]:
    """The `top_k` best in descending order, or everything as it came when there is no limit."""
    if 0 < top_k < len(scores):
        return tuple(scores.topk(top_k))
    return scores, torch.arange(len(scores))


def _keep_top_p(scores: Tensor, tokens: Tensor, top_p: float) -> tuple[Tensor, Tensor]:
    """The fewest best tokens that together reach `top_p`."""
    if top_p >= 1:
        return scores, tokens
    total = scores.logsumexp(-1)
    for look in (min(FIRST_LOOK, len(scores)), len(scores)):
        best, order = scores.topk(look)
        reached = (best - total).exp().cumsum(-1)
        if reached[-1] >= top_p or look == len(scores):
            break
    kept = int((reached < top_p).sum()) + 1
    return best[:kept], tokens[order[:kept]]


def _keep_min_p(scores: Tensor, tokens: Tensor, min_p: float) -> tuple[Tensor, Tensor]:
    """The tokens that are at least `min_p` as likely as the likeliest."""
    if min_p <= 0:
        return scores, tokens
    kept = scores >= scores.max() + math.log(min_p)
    return scores[kept], tokens[kept]
