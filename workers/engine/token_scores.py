"""What a request changes about the model's scores, and what it is told of them."""

from collections.abc import Collection, Sequence

import torch
from torch import Tensor

from workers.engine.generation import Sampling, TokenScore


def shape_scores(
    logits: Tensor, sampling: Sampling, *, prompt: Sequence[int], answer: Sequence[int]
) -> Tensor:
    """Give back the row's logits with bias and penalties applied. Shape: `[vocabulary]`."""
    if sampling.repetition_penalty != 1:
        logits = _penalize_repetition(logits, sampling.repetition_penalty, [*prompt, *answer])
    if answer and (sampling.presence_penalty or sampling.frequency_penalty):
        logits = _penalize_use(logits, sampling, answer)
    if sampling.logit_bias:
        tokens = torch.tensor(list(sampling.logit_bias), device=logits.device)
        bias = torch.tensor(list(sampling.logit_bias.values()), device=logits.device)
        logits = logits.index_add(0, tokens, bias.to(logits.dtype))
    return logits


def forbid(logits: Tensor, tokens: Collection[int]) -> Tensor:
    """Give back the logits with these tokens at minus infinity."""
    known = [token for token in tokens if token < len(logits)]
    return logits.index_fill(0, torch.tensor(known, device=logits.device).long(), -torch.inf)


def score_token(logits: Tensor, token: int, likeliest: int) -> TokenScore:
    """Give back the log probability of a token and of the likeliest ones."""
    logprobs = logits.float().log_softmax(-1)
    values, tokens = logprobs.topk(min(likeliest, len(logprobs)))
    return TokenScore(
        token=token,
        logprob=float(logprobs[token]),
        likeliest=tuple(zip(tokens.tolist(), values.tolist(), strict=True)),
    )


def _penalize_repetition(logits: Tensor, penalty: float, seen: Sequence[int]) -> Tensor:
    tokens = torch.tensor(seen, device=logits.device).unique()
    scores = logits[tokens]
    weakened = torch.where(scores < 0, scores * penalty, scores / penalty)
    return logits.index_copy(0, tokens, weakened)


def _penalize_use(logits: Tensor, sampling: Sampling, answer: Sequence[int]) -> Tensor:
    counts = torch.bincount(torch.tensor(answer), minlength=len(logits)).to(logits.device)
    penalties = counts * sampling.frequency_penalty + (counts > 0) * sampling.presence_penalty
    return logits - penalties.to(logits.dtype)
