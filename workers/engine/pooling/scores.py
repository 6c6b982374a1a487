"""Raw scores to the numbers that a client reads."""

from collections.abc import Callable, Mapping
from typing import Any, Literal

import torch
from torch import Tensor

Function = Literal["softmax", "sigmoid", "none"]
FUNCTIONS: Mapping[Function, Callable[[Tensor], Tensor]] = {
    "softmax": lambda scores: scores.softmax(-1), "sigmoid": torch.sigmoid, "none": lambda s: s,
}  # fmt: skip
"""What is done to the scores of one text."""


def usual_function(config: Any) -> Function:
    """Give back what the checkpoint's problem asks for; one label alone is a probability."""
    problem = getattr(config, "problem_type", None)
    if problem == "regression":
        return "none"
    is_single = problem != "multi_label_classification" and config.num_labels > 1
    return "softmax" if is_single else "sigmoid"
