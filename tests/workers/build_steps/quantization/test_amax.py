"""The largest values that calibration saw, of inputs that are shared, of experts, and of none."""

import math
from typing import Any

import pytest
import torch
from torch import nn

from workers.build_steps.quantization.amax import largest_seen

pytestmark = pytest.mark.engine


class Quantizer(nn.Module):
    """As much of ModelOpt's as is looked at."""

    def __init__(self, amax: float | None, *, is_enabled: bool = True) -> None:
        super().__init__()
        self.amax = None if amax is None else torch.tensor(amax)
        self.is_enabled = is_enabled


def layer(amax: float | None, **choices: Any) -> nn.Linear:
    made = nn.Linear(2, 2)
    made.input_quantizer = Quantizer(amax, **choices)
    return made


def test_layers_that_share_a_weight_have_the_larger_value_of_both() -> None:
    model = nn.ModuleDict({"one": layer(2.0), "other": layer(3.0), "alone": layer(1.0)})
    model["other"].weight = model["one"].weight
    assert largest_seen(model) == {
        "one.input_quantizer": 3.0, "other.input_quantizer": 3.0, "alone.input_quantizer": 1.0,
    }  # fmt: skip


def test_an_expert_that_no_sample_reached_has_the_largest_value_of_the_others() -> None:
    model = nn.ModuleDict({"experts": nn.ModuleList([layer(2.0), layer(None), layer(5.0)])})
    assert list(largest_seen(model).values()) == [2.0, 5.0, 5.0]


@pytest.mark.parametrize("amax", [None, 0.0, math.nan, math.inf])
def test_a_layer_that_saw_nothing_usable_has_no_value(amax: float | None) -> None:
    assert largest_seen(nn.ModuleDict({"up": layer(amax)})) == {"up.input_quantizer": None}


def test_quantizers_that_are_switched_off_are_left_out() -> None:
    assert largest_seen(nn.ModuleDict({"up": layer(2.0, is_enabled=False)})) == {}
