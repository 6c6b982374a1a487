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
    known = [token for token in tokens if token < len(logits)]
    return logits.index_fill(0, torch.tensor(known, device=logits.device).long(), -torch.inf)


def score_tokens(logits: Tensor, tokens: Sequence[int], likeliest: int) -> list[TokenScore]:
    """Give back the log probability of each token and of the likeliest in its place.

    Shape: `[tokens, vocabulary]`.
    """
    logprobs = logits.float().log_softmax(-1)
    own = logprobs.gather(-1, torch.tensor(tokens)[:, None])
    ranks = (logprobs > own).sum(-1) + 1
    values, best = logprobs.topk(min(likeliest, logprobs.shape[-1]))
    return [
        TokenScore(
            token=token, logprob=logprob, rank=rank,
            likeliest=tuple(zip(tokens, values, strict=True)),
        )
        for token, logprob, rank, tokens, values in zip(
            tokens, own[:, 0].tolist(), ranks.tolist(), best.tolist(), values.tolist(), strict=True
        )
    ]  # fmt: skip


def _penalize_repetition(logits: Tensor, penalty: float, seen: Sequence[int]) -> Tensor:
    tokens = torch.tensor(seen, device=logits.device).unique()
    scores = logits[tokens]
    weakened = torch.where(scores < 0, scores * penalty, scores / penalty)
    return logits.index_copy(0, tokens, weakened)


def _penalize_use(logits: Tensor, sampling: Sampling, answer: Sequence[int]) -> Tensor:
    counts = torch.bincount(torch.tensor(answer), minlength=len(logits)).to(logits.device)
    penalties = counts * sampling.frequency_penalty + (counts > 0) * sampling.presence_penalty
    return logits - penalties.to(logits.dtype)
