"""One pass of a model over rows of tokens; ModelOpt is not needed for it."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn


def run_batch(model: nn.Module, batch: Sequence[Sequence[int]], **choices: Any) -> Any:
    place = next(model.parameters()).device
    if place.type == "meta":  # it waits on the host until a GPU has room for it
        place = torch.device("cuda", 0)
    rows: Tensor = torch.tensor(batch, device=place)
    arguments: dict[str, Any] = {"input_ids": rows, "attention_mask": torch.ones_like(rows)}
    if getattr(model.config, "use_cache", False):
        arguments["use_cache"] = False
    return model(**arguments, **choices)
