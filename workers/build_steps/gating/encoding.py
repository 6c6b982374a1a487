"""Two encoders on the same text: how near their vectors are, and whether their labels agree."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from controlplane.domain.failures.registry import gate
from workers.build_steps.failures import StepFailure
from workers.build_steps.gating.heads import Heads, batch_of

OnSample = Callable[[], None]


@dataclass(frozen=True, kw_only=True)
class Answer:
    vector: Tensor
    scores: Tensor | None
    """Of the labels, where it has any: a row for the text, or for each of its tokens."""


@dataclass(frozen=True, kw_only=True)
class EncoderResult:
    mean_cosine: float
    label_agreement: float | None
    """Share of equal labels; of a single score, one minus its mean change as a probability."""
    labels: int
    labelled: int
    """Texts, or tokens of them, that got a label."""
    cosines: tuple[float, ...]

    @property
    def differing_labels(self) -> int:
        if self.label_agreement is None or self.labels < 2:
            return 0
        return round((1 - self.label_agreement) * self.labelled)

    def to_json(self) -> dict[str, Any]:
        agreement = self.label_agreement
        return {
            "mean_cosine": round(self.mean_cosine, 6),
            "label_agreement": None if agreement is None else round(agreement, 6),
            "labels": self.labels,
            "labelled": self.labelled,
        }


def read_answers(
    model: nn.Module,
    samples: Sequence[Sequence[int]],
    which: str,
    on_sample: OnSample,
    *,
    heads: Heads,
) -> list[Answer]:
    """Return an encoder's answers; raises StepFailure when they are no numbers."""
    answers = []
    for tokens in samples:
        answers.append(_answer(model, tokens, heads))
        on_sample()
    if not all(bool(torch.isfinite(each.vector).all()) for each in answers):
        raise StepFailure.of(gate.NOT_FINITE, which=which)
    return answers


def compare(before: Sequence[Answer], after: Sequence[Answer]) -> EncoderResult:
    pairs = list(zip(before, after, strict=True))
    cosines = tuple(_cosine(one.vector, other.vector) for one, other in pairs)
    scores = [
        (one.scores, other.scores)
        for one, other in pairs
        if one.scores is not None and other.scores is not None
    ]
    return EncoderResult(
        mean_cosine=math.fsum(cosines) / len(cosines),
        label_agreement=_agreement(scores) if scores else None,
        labels=scores[0][0].shape[-1] if scores else 0,
        labelled=sum(len(one) for one, _ in scores),
        cosines=cosines,
    )


def _answer(model: Any, tokens: Sequence[int], heads: Heads) -> Answer:
    with torch.inference_mode():
        place = next(model.parameters()).device
        batch = batch_of(model, torch.tensor(tokens, device=place))
        scores = heads.scores(model, batch)
        return Answer(
            vector=heads.vector(model, batch).float().cpu(),
            scores=None if scores is None else scores.cpu(),
        )


def _cosine(one: Tensor, other: Tensor) -> float:
    return float(nn.functional.cosine_similarity(one, other, dim=0))


def _agreement(pairs: Sequence[tuple[Tensor, Tensor]]) -> float:
    before, after = (torch.cat(each) for each in zip(*pairs, strict=True))
    if before.shape[-1] == 1:
        return 1 - float((before.sigmoid() - after.sigmoid()).abs().mean())
    return float((before.argmax(-1) == after.argmax(-1)).float().mean())
