"""Two generation models on the same text: perplexity, drift of the logits, worst samples."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from controlplane.domain.failures.registry import gate
from workers.build_steps.failures import StepFailure
from workers.build_steps.gating import guessing
from workers.build_steps.quantization.forward import run_batch

_LIKELIEST = 64
"""Tokens whose probability is kept per place; the rest count as one."""
_SMALLEST_PROBABILITY = 1e-9

_CLEARLY_BETTER = 0.5
"""Share of a guess's perplexity that the original's must stay under."""

OnSample = Callable[[], None]


@dataclass(frozen=True, kw_only=True)
class Reading:
    loss: float
    """Mean negative logarithm of the probability of the next token."""
    places: int
    likeliest: Tensor
    """Ids of the likeliest tokens of each place."""
    logarithms: Tensor
    """Logarithms of their probabilities."""


@dataclass(frozen=True, kw_only=True)
class GenerationResult:
    perplexity_original: float
    perplexity_quantized: float
    drift: float
    """Mean divergence of the distributions (Kullback-Leibler, in nats) per token."""
    same_choice: float
    """Share of places at which both find the same token likeliest."""
    places: int
    perplexity_guessed: float
    """What knows of a text only how often each token occurs in the other ones has this one."""
    ratios: tuple[float, ...]
    """Perplexity after over before, by sample."""

    @property
    def change(self) -> float:
        """The share by which perplexity rose."""
        return self.perplexity_quantized / self.perplexity_original - 1

    @property
    def original_guesses(self) -> bool:
        """Whether the original is not clearly better than guessing, so that nothing can be lost."""
        return self.perplexity_original > self.perplexity_guessed * _CLEARLY_BETTER

    def to_json(self) -> dict[str, Any]:
        return {
            "perplexity_original": round(self.perplexity_original, 4),
            "perplexity_quantized": round(self.perplexity_quantized, 4),
            "perplexity_guessed": round(self.perplexity_guessed, 4),
            "perplexity_change": round(self.change, 6),
            "logit_drift_nats": round(self.drift, 6),
            "same_choice": round(self.same_choice, 6),
            "tokens": self.places,
        }


def read_original(
    model: nn.Module, samples: Sequence[Sequence[int]], on_sample: OnSample
) -> list[Reading]:
    """Return what the original says; raises StepFailure when that is no number."""
    readings = []
    for tokens in samples:
        logarithms = _logarithms(model, tokens)
        kept, ids = logarithms.topk(min(_LIKELIEST, logarithms.shape[-1]))
        loss = _loss(logarithms, tokens)
        readings.append(
            Reading(loss=loss, places=len(tokens) - 1, likeliest=ids.cpu(), logarithms=kept.cpu())
        )
        on_sample()
    if not all(math.isfinite(each.loss) for each in readings):
        raise StepFailure.of(gate.NOT_FINITE, which="original")
    return readings


def compare(
    model: nn.Module,
    samples: Sequence[Sequence[int]],
    readings: Sequence[Reading],
    on_sample: OnSample,
) -> GenerationResult:
    """Return what the quantized model says otherwise; raises StepFailure for no number."""
    losses, drift, same = [], 0.0, 0
    vocabulary = 1
    for tokens, reading in zip(samples, readings, strict=True):
        logarithms = _logarithms(model, tokens).cpu()
        vocabulary = logarithms.shape[-1]
        losses.append(_loss(logarithms, tokens))
        drift += _drift(reading, logarithms)
        same += int((logarithms.argmax(-1) == reading.likeliest[:, 0]).sum())
        on_sample()
    if not all(math.isfinite(loss) for loss in losses):
        raise StepFailure.of(gate.NOT_FINITE, which="quantized")
    places = [each.places for each in readings]
    return GenerationResult(
        perplexity_original=_perplexity([each.loss for each in readings], places),
        perplexity_quantized=_perplexity(losses, places),
        drift=drift / sum(places),
        same_choice=same / sum(places),
        places=sum(places),
        perplexity_guessed=guessing.perplexity(samples, vocabulary),
        ratios=tuple(
            math.exp(after - before.loss) for after, before in zip(losses, readings, strict=True)
        ),
    )


def _logarithms(model: nn.Module, tokens: Sequence[int]) -> Tensor:
    with torch.inference_mode():
        logits: Tensor = run_batch(model, [tokens]).logits[0, :-1]
        return logits.float().log_softmax(-1)


def _loss(logarithms: Tensor, tokens: Sequence[int]) -> float:
    following = torch.tensor(tokens[1:], device=logarithms.device)
    return -float(logarithms.gather(-1, following[:, None]).mean())


def _drift(before: Reading, after: Tensor) -> float:
    """Return the summed divergence over places, of the likeliest tokens and all others as one.

    Lumping the rest together can only make it smaller, by what is hidden in the rest.
    """
    chances = before.logarithms.exp()
    kept = after.gather(-1, before.likeliest)
    drift = (chances * (before.logarithms - kept)).sum(-1)
    rest = (1 - chances.sum(-1)).clamp_min(0.0)
    rest_after = (1 - kept.exp().sum(-1)).clamp_min(_SMALLEST_PROBABILITY)
    drift += torch.where(
        rest > _SMALLEST_PROBABILITY, rest * (rest.clamp_min(1e-30) / rest_after).log(), 0.0
    )
    return float(drift.sum())


def _perplexity(losses: Sequence[float], places: Sequence[int]) -> float:
    total = sum(loss * count for loss, count in zip(losses, places, strict=True))
    return math.exp(total / sum(places))
