"""Which layers a build would keep in 16 bits, by its own choice, FP8 emulated on any device."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from workers.build_steps.quantization.sensitivity import Bar, Kept, Quantized, keep_sensitive

_LARGEST = 448.0
_FP8 = torch.float8_e4m3fn


def kept_layers(
    model: Any,
    layers: Mapping[str, nn.Module],
    largest: Mapping[str, Tensor],
    rows: Sequence[Sequence[int]],
    bar: Bar,
) -> Kept:
    """Return what the build chooses, its answers a mean of the last states or a head's scores."""
    with torch.inference_mode():
        watched = {name: _Watched(layers[name], largest[name]) for name in layers}
        in_order = {name: each for name, each in model.named_modules() if name in watched}
        request = Quantized(
            layers=in_order, has_labels=hasattr(model, "classifier"),
            answer=lambda row: _answer(model, row),
            switch=lambda layer, on: watched[_name_of(in_order, layer)].switch(on),
        )  # fmt: skip
        try:
            return keep_sensitive(request, rows, bar)
        finally:
            for each in watched.values():
                each.end()


class _Watched:
    """A layer that rounds its weight and its input to FP8 while it is switched on."""

    def __init__(self, layer: nn.Module, largest: Tensor) -> None:
        self._layer: Any = layer
        self._whole = self._layer.weight.data
        self._rounded = _rounded(self._whole, self._whole.abs().max() / _LARGEST)
        self._scale = (largest / _LARGEST).to(self._whole.device)
        self._hook = layer.register_forward_pre_hook(self._round_input)
        self.switch(True)

    def switch(self, is_quantized: bool) -> None:
        self._is_quantized = is_quantized
        self._layer.weight.data = self._rounded if is_quantized else self._whole

    def end(self) -> None:
        self._hook.remove()
        self.switch(False)

    def _round_input(self, _layer: Any, given: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return (_rounded(given[0], self._scale), *given[1:]) if self._is_quantized else given


def _rounded(numbers: Tensor, scale: Tensor) -> Tensor:
    scaled = (numbers.float() / scale).clamp(-_LARGEST, _LARGEST)
    return (scaled.to(_FP8).float() * scale).to(numbers.dtype)


def _name_of(layers: Mapping[str, nn.Module], layer: nn.Module) -> str:
    return next(name for name, each in layers.items() if each is layer)


def _answer(model: Any, row: Sequence[int]) -> Tensor:
    with torch.inference_mode():
        outcome = model(input_ids=torch.tensor([row], device=model.device))
        if hasattr(outcome, "logits"):
            return torch.atleast_2d(outcome.logits[0].float()).cpu()
        return outcome.last_hidden_state[0].float().mean(0).cpu()
