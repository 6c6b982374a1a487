"""How near an encoder's answers are to those in 16 bits, as few rows can tell it of many."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

_ROOT_OF_TWO = math.sqrt(2)


@dataclass(frozen=True, kw_only=True)
class Agreement:
    least_cosine: float | None
    """Of vectors; None of labels."""
    mean_cosine: float | None
    changed: float | None
    """Share of labels, or of pairs in their order, that is expected to change; None of vectors."""
    error: float
    """Mean square of what changed, by which layers are compared."""

    def to_json(self) -> dict[str, Any]:
        figures = {
            "least_cosine": self.least_cosine, "mean_cosine": self.mean_cosine,
            "changed": self.changed,
        }  # fmt: skip
        return {name: round(each, 5) for name, each in figures.items() if each is not None}


def agreement_of(
    expected: Sequence[Tensor], actual: Sequence[Tensor], *, has_labels: bool
) -> Agreement:
    """Return how near answers are to those that are wanted, a tensor for each row.

    `has_labels`: they are scores, of each text or of each of its tokens, and no vectors.
    """
    if has_labels:
        margins, moved = _margins(*(torch.cat([*each]).double() for each in (expected, actual)))
        error = float(moved.square().mean())
        return Agreement(
            least_cosine=None, mean_cosine=None, error=error,
            changed=_expected_changes(margins, math.sqrt(error)),
        )  # fmt: skip
    cosines = nn.functional.cosine_similarity(
        *(torch.stack([*each]).double() for each in (expected, actual))
    )
    return Agreement(
        least_cosine=float(cosines.min()), mean_cosine=float(cosines.mean()), changed=None,
        error=float((1 - cosines).mean()),
    )  # fmt: skip


def _margins(one: Tensor, other: Tensor) -> tuple[Tensor, Tensor]:
    """Return by how much each decision was made, and how far that moved."""
    if one.shape[-1] > 1:
        best = one.topk(2).indices
        before, after = (each.gather(1, best) for each in (one, other))
        return before[:, 0] - before[:, 1], (after - before).diff().squeeze(1)
    first, second = torch.triu_indices(len(one), len(one), offset=1)
    before, after = (each[first, 0] - each[second, 0] for each in (one, other))
    return before.abs(), after - before


def _expected_changes(margins: Tensor, moved: float) -> float:
    """Return the share of decisions whose margin a normal error of this size takes away.

    Counted changes of so few rows would say nothing of a share as small as one percent.
    """
    if not len(margins) or moved == 0:
        return 0.0
    return float(torch.special.erfc(margins / (moved * _ROOT_OF_TWO)).mean() / 2)
