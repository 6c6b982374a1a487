"""Raw scores to the numbers that a client reads."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from torch import Tensor


class Function(StrEnum):
    """What is done to the scores of one text."""

    SOFTMAX = "softmax"
    SIGMOID = "sigmoid"
    NONE = "none"


_BY_PROBLEM: Mapping[str, Function] = {
    "single_label_classification": Function.SOFTMAX,
    "multi_label_classification": Function.SIGMOID,
    "regression": Function.NONE,
}


def choose_function(config: Any) -> Function:
    """Give back what the checkpoint's problem asks for; one label alone is a probability."""
    if config.num_labels == 1:
        return Function.SIGMOID
    named = _BY_PROBLEM.get(str(getattr(config, "problem_type", None)))
    return named or Function(getattr(config, "function_to_apply", None) or Function.SOFTMAX)


def rate(function: Function, logits: Tensor) -> Tensor:
    """Give back the scores as a tensor of the same shape."""
    match function:
        case Function.SOFTMAX:
            return logits.softmax(-1)
        case Function.SIGMOID:
            return logits.sigmoid()
        case Function.NONE:
            return logits
