"""Raw scores to the numbers that a client reads."""

from enum import StrEnum
from typing import Any

from torch import Tensor


class Function(StrEnum):
    """What is done to the scores of one text."""

    SOFTMAX = "softmax"
    SIGMOID = "sigmoid"
    NONE = "none"


def choose_function(config: Any) -> Function:
    """Give back what the checkpoint's problem asks for; one label alone is a probability."""
    problem = getattr(config, "problem_type", None)
    if problem == "regression":
        return Function.NONE
    if problem == "multi_label_classification" or config.num_labels == 1:
        return Function.SIGMOID
    return Function.SOFTMAX


def rate(function: Function, logits: Tensor) -> Tensor:
    """Give back the scores as a tensor of the same shape."""
    match function:
        case Function.SOFTMAX:
            return logits.softmax(-1)
        case Function.SIGMOID:
            return logits.sigmoid()
        case Function.NONE:
            return logits
