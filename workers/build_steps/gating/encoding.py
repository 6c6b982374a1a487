"""Two encoders on the same text: how near their vectors are, and whether their labels agree."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from workers.build_steps.gating import failures
from workers.build_steps.quantization.calibrating import run_batch

OnSample = Callable[[], None]


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What an encoder made of one sample."""

    vector: Tensor
    logits: Tensor | None
    """Scores of the labels, where it has any."""


@dataclass(frozen=True, kw_only=True)
class EncoderResult:
    """How much two encoders agree."""

    mean_cosine: float
    label_agreement: float | None
    """Share of equal labels; of a single score, one minus its mean change as a probability."""
    labels: int
    samples: int
    cosines: tuple[float, ...]

    @property
    def differing_labels(self) -> int:
        """How many samples changed their label."""
        if self.label_agreement is None or self.labels < 2:
            return 0
        return round((1 - self.label_agreement) * self.samples)

    def to_json(self) -> dict[str, Any]:
        """Return the figures that results store."""
        agreement = self.label_agreement
        return {
            "mean_cosine": round(self.mean_cosine, 6),
            "label_agreement": None if agreement is None else round(agreement, 6),
            "labels": self.labels,
        }


def read_answers(
    model: nn.Module, samples: Sequence[Sequence[int]], which: str, on_sample: OnSample
) -> list[Answer]:
    """Return an encoder's answers; raises StepFailure when they are no numbers."""
    answers = []
    for tokens in samples:
        answers.append(_answer(model, tokens))
        on_sample()
    if not all(bool(torch.isfinite(each.vector).all()) for each in answers):
        raise failures.not_finite(which)
    return answers


def compare(before: Sequence[Answer], after: Sequence[Answer]) -> EncoderResult:
    """Return how much the answers agree."""
    pairs = list(zip(before, after, strict=True))
    cosines = tuple(_cosine(one.vector, other.vector) for one, other in pairs)
    logits = [
        (one.logits, other.logits)
        for one, other in pairs
        if one.logits is not None and other.logits is not None
    ]
    return EncoderResult(
        mean_cosine=math.fsum(cosines) / len(cosines),
        label_agreement=_agreement(logits) if logits else None,
        labels=logits[0][0].numel() if logits else 0,
        samples=len(pairs),
        cosines=cosines,
    )


def _answer(model: Any, tokens: Sequence[int]) -> Answer:
    with torch.inference_mode():
        hidden: list[Tensor] = []
        # The body's own output: the same for a bare encoder and for one below a head.
        body = model.base_model
        catch = body.register_forward_hook(
            lambda _module, _inputs, output: hidden.append(output.last_hidden_state[0].float())
        )
        try:
            output = run_batch(model, [tokens])
        finally:
            catch.remove()
        is_causal = not getattr(model.config, "is_encoder_decoder", False) and _is_decoder(model)
        vector = hidden[0][-1] if is_causal else hidden[0].mean(0)
        logits = getattr(output, "logits", None) if _has_labels(model) else None
        return Answer(
            vector=vector.cpu(), logits=None if logits is None else logits[0].float().cpu()
        )


def _is_decoder(model: Any) -> bool:
    """Return whether only the last token has seen the whole text."""
    return any(getattr(module, "is_causal", False) for module in model.modules())


def _has_labels(model: Any) -> bool:
    return type(model).__name__.endswith("ForSequenceClassification")


def _cosine(one: Tensor, other: Tensor) -> float:
    return float(nn.functional.cosine_similarity(one, other, dim=0))


def _agreement(pairs: Sequence[tuple[Tensor, Tensor]]) -> float:
    if pairs[0][0].numel() == 1:
        moved = [abs(float(one.sigmoid() - other.sigmoid())) for one, other in pairs]
        return 1 - math.fsum(moved) / len(moved)
    return sum(int(one.argmax()) == int(other.argmax()) for one, other in pairs) / len(pairs)
