"""Products of one input by several weights, joined into one product."""

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from workers.engine.pooling.packed.fp8 import Fp8Linear, joined_fp8

GROUPS = (
    ("query", "key", "value"),
    ("q_proj", "k_proj", "v_proj"),
    ("q_lin", "k_lin", "v_lin"),
    ("gate_proj", "up_proj"),
)
"""Names of layers that a class asks one after the other with one input."""


class Joined(nn.Module):
    """The first of them: computes all, and keeps the others' parts until they are asked."""

    def __init__(self, product: nn.Module, sizes: Sequence[int]) -> None:
        super().__init__()
        self.product = product
        self.sizes = list(sizes)
        self._input: Tensor | None = None
        self._parts: list[Tensor | None] = []

    def forward(self, x: Tensor) -> Tensor:
        first, *others = self.product(x).split(self.sizes, -1)
        self._input, self._parts = x, [None, *others]
        return first

    def part(self, x: Tensor, place: int) -> Tensor:
        """Give back another layer's output: the one that was kept, where it is of this input."""
        kept = self._parts[place] if self._input is x else None
        if kept is None:
            kept = self.product(x).split(self.sizes, -1)[place]
        else:
            self._parts[place] = None
        if not any(each is not None for each in self._parts):
            self._input = None
        return kept


class _Part(nn.Module):
    """Another of them, without weights of its own."""

    def __init__(self, joined: Joined, place: int) -> None:
        super().__init__()
        self._joined = [joined]  # in a list, so that it counts as a module once
        self._place = place

    def forward(self, x: Tensor) -> Tensor:
        return self._joined[0].part(x, self._place)


def join_layers(model: nn.Module) -> int:
    """Replace each such group in the model; give back how many there were."""
    groups = list(_groups(model))
    return sum(_join(parent, names) for parent, names in groups)


def _join(parent: nn.Module, names: Sequence[str]) -> bool:
    layers = [getattr(parent, name) for name in names]
    product = joined_fp8(layers) if isinstance(layers[0], Fp8Linear) else _joined(layers)
    if product is None:
        return False
    joined = Joined(product, [each.out_features for each in layers])
    setattr(parent, names[0], joined)
    for place, name in enumerate(names[1:], 1):
        setattr(parent, name, _Part(joined, place))
    return True


def _joined(layers: Sequence[nn.Linear]) -> nn.Linear:
    layer = nn.Linear(1, 1, device="meta")  # filled at once: what a layer begins with costs time
    layer.weight = _frozen([each.weight for each in layers])
    has_bias = layers[0].bias is not None
    layer.bias = _frozen([each.bias for each in layers]) if has_bias else None
    return layer


def _groups(model: nn.Module) -> Iterator[tuple[nn.Module, Sequence[str]]]:
    for parent in model.modules():
        for names in GROUPS:
            layers = [getattr(parent, name, None) for name in names]
            is_known = all(map(_is_plain, layers)) or all(type(x) is Fp8Linear for x in layers)
            if is_known and _are_alike(layers):
                yield parent, names


def _is_plain(layer: Any) -> bool:
    """Whether it is a product and no more: one that is emulated rounds its input in a hook."""
    return type(layer) is nn.Linear and not layer._forward_pre_hooks


def _are_alike(layers: Sequence[Any]) -> bool:
    return len({(each.in_features, each.bias is None, each.weight.dtype) for each in layers}) == 1


def _frozen(parts: Sequence[Tensor]) -> nn.Parameter:
    return nn.Parameter(torch.cat([each.detach() for each in parts]), requires_grad=False)
