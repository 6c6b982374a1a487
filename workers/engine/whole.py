"""Refuses a model of which a part would have been invented, or is no number."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import nn

from workers.engine.errors import CheckpointRefused
from workers.model_layers import beyond


def refuse_unfit(
    module: Any, report: Mapping[str, Any], missing: Sequence[str] | None = None
) -> None:
    """Let a load pass that found each tensor in its place. Raises: `CheckpointRefused`.

    `missing` are those of the report's that matter, where some do not.
    """
    lost = sorted(report["missing_keys"]) if missing is None else missing
    if lost:
        raise CheckpointRefused(
            f"The checkpoint has no tensor `{lost[0]}`, so its answers would be random. Fetch "
            "it again, or build from another one."
        )
    for name, stored, expected in sorted(report["mismatched_keys"]):
        raise CheckpointRefused(
            f"`{name}` is {list(stored)} and should be {list(expected)} by config.json. Use a "
            "revision in which config.json and weights belong together."
        )
    if left := beyond(module, report["unexpected_keys"]):
        raise CheckpointRefused(
            f"The checkpoint has `{left[0]}`, and config.json makes a model that ends before it: "
            "another one would answer. Use a revision in which config.json and weights belong "
            "together."
        )


def refuse_not_finite(module: nn.Module) -> None:
    """Let numbers pass. Raises: `CheckpointRefused` that names what holds another thing."""
    if name := first_not_finite(module.named_parameters()):
        raise CheckpointRefused(
            f"`{name}` holds infinities or what is no number, so its answers would be nothing. "
            "Save the weights again, or build from another revision."
        )


def first_not_finite(tensors: Iterable[tuple[str, torch.Tensor]]) -> str | None:
    """Return the name of the first tensor that is not all numbers."""
    for name, tensor in tensors:
        if tensor.is_floating_point() and not tensor.is_meta and tensor.numel():
            # One pass and nothing made: what is no number is least and largest at once.
            least, largest = torch.aminmax(tensor.detach())
            if not (torch.isfinite(least) and torch.isfinite(largest)):
                return name
    return None
