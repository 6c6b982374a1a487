"""Layers that are joined give what they gave apart, in whatever order they are asked."""

import torch
from torch import nn

from workers.engine.pooling.packed.joined import join_layers


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.q_proj, self.k_proj, self.v_proj = (nn.Linear(8, n) for n in (16, 4, 4))
        self.requires_grad_(False)


def test_each_gives_what_it_gave_by_itself() -> None:
    apart, joined = Attention(), Attention()
    assert join_layers(joined) == 1
    one, other = torch.randn(3, 8), torch.randn(3, 8)
    for x in (one, other):
        for name in ("q_proj", "k_proj", "v_proj"):
            torch.testing.assert_close(getattr(joined, name)(x), getattr(apart, name)(x))


def test_an_input_that_the_first_did_not_see_is_computed_for_itself() -> None:
    apart, joined = Attention(), Attention()
    join_layers(joined)
    one, other = torch.randn(3, 8), torch.randn(3, 8)
    joined.q_proj(one)
    torch.testing.assert_close(joined.v_proj(other), apart.v_proj(other))
    torch.testing.assert_close(joined.v_proj(one), apart.v_proj(one))
    torch.testing.assert_close(joined.v_proj(one), apart.v_proj(one))


def test_layers_of_another_kind_are_left_alone() -> None:
    model = Attention()
    model.k_proj = nn.Sequential(nn.Linear(8, 4))
    assert join_layers(model) == 0


def test_a_layer_that_rounds_its_input_is_left_alone() -> None:
    model = Attention()
    model.k_proj.register_forward_pre_hook(lambda _layer, inputs: (inputs[0].round(),))
    assert join_layers(model) == 0
