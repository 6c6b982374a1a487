"""Layers that multiply FP8 numbers give what rounding their weight and input gives."""

import pytest
import torch
from torch import nn
from transformers.activations import ACT2FN

from workers.engine.pooling.packed.fp8 import Fp8Linear, take_fp8
from workers.engine.pooling.packed.joined import Joined, join_layers
from workers.engine.quantized_loader import Fp8Scales
from workers.engine.rounding import round_rows_to_fp8, round_to_fp8

pytestmark = pytest.mark.engine
NAMES = ("q_proj", "k_proj", "v_proj")


class Attention(nn.Module):
    """Weights that FP8 numbers times a scale hold exactly, as of a checkpoint."""

    def __init__(self, scales: dict[str, Fp8Scales]) -> None:
        super().__init__()
        torch.manual_seed(0)
        for name in NAMES:
            layer = nn.Linear(32, 48, dtype=torch.bfloat16)
            scale = scales[name].weight.reshape(-1, 1)
            stored = (torch.randn(48, 32) / 8 / scale).to(torch.float8_e4m3fn)
            layer.weight.data = (stored.float() * scale).bfloat16()
            setattr(self, name, layer)
        self.requires_grad_(False)


def scales(kind: str) -> dict[str, Fp8Scales]:
    given = None if kind == "per token" else torch.tensor(0.01)
    weights = {"unequal": [0.001, 0.002, 0.001]}.get(kind, [0.001] * 3)
    rows = (48, 1) if kind == "per row" else (1,)
    return {
        name: Fp8Scales(weight=torch.full(rows, weight), input=given)
        for name, weight in zip(NAMES, weights, strict=True)
    }


@pytest.mark.parametrize("kind", ["equal", "unequal", "per token", "per row"])
def test_products_are_those_of_rounded_numbers_joined_or_apart(kind: str) -> None:
    plain, model = Attention(scales(kind)), Attention(scales(kind))
    assert take_fp8(model, scales(kind)) == 3
    assert join_layers(model) == (kind != "unequal")
    for seed in range(2):
        x = torch.randn(1, 7, 32, generator=torch.Generator().manual_seed(seed)).bfloat16()
        given = scales(kind)["q_proj"].input
        rounded = round_rows_to_fp8(x) if given is None else round_to_fp8(x, given)
        for name in NAMES:
            expected = getattr(plain, name)(rounded)
            torch.testing.assert_close(getattr(model, name)(x), expected, atol=2e-2, rtol=2e-2)


def test_layers_of_one_input_round_it_once_and_let_it_go() -> None:
    model = Attention(scales("unequal"))
    take_fp8(model, scales("unequal"))
    join_layers(model)
    layers = [getattr(model, name) for name in NAMES]
    quantizer = layers[0].quantizer
    assert {id(each.quantizer) for each in layers} == {id(quantizer)}
    x = torch.randn(4, 32).bfloat16()
    one, other, last = (each.quantizer(x)[0] for each in layers)
    assert one is other is last
    assert quantizer._input is None


def test_layers_that_no_kernel_takes_are_left() -> None:
    model = nn.Sequential(nn.Linear(32, 24, dtype=torch.bfloat16))
    of_all = {"0": Fp8Scales(weight=torch.tensor(0.1), input=None)}
    assert take_fp8(model, of_all) == 0
    assert type(model[0]) is nn.Linear


class Feeding(nn.Module):
    """As in BERT: one part ends in an activation that the next one's product reads."""

    def __init__(self, activation: str) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.intermediate, self.output = nn.Module(), nn.Module()
        self.intermediate.intermediate_act_fn = ACT2FN[activation]
        self.output.dense = nn.Linear(32, 16, dtype=torch.bfloat16)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.output.dense(self.intermediate.intermediate_act_fn(x))


@pytest.mark.parametrize("activation", ["gelu", "gelu_new", "relu"])
def test_gelu_is_a_part_of_rounding_and_no_other_activation_is(activation: str) -> None:
    apart, model = Feeding(activation), Feeding(activation)
    scales = Fp8Scales(weight=torch.tensor(0.001), input=torch.tensor(0.01))
    assert take_fp8(model, {"output.dense": scales}) == 1
    assert take_fp8(apart.output, {"dense": scales}) == 1  # whose activation it does not see
    is_taken = isinstance(model.intermediate.intermediate_act_fn, nn.Identity)
    assert is_taken == (activation == "gelu")
    x = torch.linspace(-4, 4, 320).reshape(10, 32).bfloat16()
    torch.testing.assert_close(model(x), apart(x), atol=2e-2, rtol=2e-2)


def test_equal_layers_are_one_product() -> None:
    model = Attention(scales("equal"))
    take_fp8(model, scales("equal"))
    join_layers(model)
    assert isinstance(model.q_proj, Joined)
    assert isinstance(model.q_proj.product, Fp8Linear)
    assert model.q_proj.product.weight.shape == (144, 32)
