"""Which stored tensors belong to layers that a model class does not make of its config.json."""

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

from torch import nn

from controlplane.domain.facts.config_numbers import number

_NUMBERED = re.compile(r"\.(\d+)\.")
_MOST_DIGITS = 9


def beyond(module: Any, unexpected: Iterable[str]) -> list[str]:
    """Return those of the tensors that lie behind a model's last layer, or last expert.

    `unexpected` are a load's own, so that what a class says it ignores is not among them. Draft
    layers that config.json counts lie there in published models and are no fault.
    """
    lengths = {name: len(each) for name, each in module.named_modules() if _is_list(each)}
    drafts = number(module.config.to_dict(), "draft_layers") or 0
    prefix = f"{module.base_model_prefix}."
    return sorted(each for each in unexpected if _is_beyond(each, lengths, prefix, drafts))


def _is_list(module: nn.Module) -> bool:
    return isinstance(module, nn.ModuleList)


def _is_beyond(tensor: str, lengths: Mapping[str, int], prefix: str, drafts: int) -> bool:
    for match in _NUMBERED.finditer(tensor):
        place = tensor[: match.start()]
        # Files of a body may lack its name, and those of a whole model have it for its body.
        for name in (place, prefix + place, place.removeprefix(prefix)):
            if name in lengths and _number(match[1]) >= lengths[name] + drafts:
                return True
    return False


def _number(digits: str) -> float:
    """Return what a name says, without end where no list is as long: Python reads 4,300 digits."""
    return int(digits) if len(digits) <= _MOST_DIGITS else math.inf
