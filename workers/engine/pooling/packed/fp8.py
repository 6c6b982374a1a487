"""Products of FP8 numbers, on devices that have them: weights stay as they are stored."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from transformers.activations import GELUActivation

from workers.engine.pooling.packed.fp8_kernels import FP8, Quantize, find_quantize
from workers.engine.quantized_loader import EmulatedModel, Fp8Scales

ALIGNED = 16
"""Rows and columns of a weight are multiples of it, or no kernel takes them."""
_FIRST_CAPABILITY = (8, 9)


def multiplies_fp8(device: torch.device, dtype: torch.dtype) -> bool:
    """Whether products of FP8 numbers are the device's own, their sums rounded to `dtype`."""
    if device.type != "cuda" or dtype is not torch.bfloat16:
        return False
    return torch.cuda.get_device_capability(device) >= _FIRST_CAPABILITY


def left_emulated(
    emulated: EmulatedModel, device: torch.device, dtype: torch.dtype
) -> tuple[str, ...]:
    """Let the device multiply what it can of a loaded model; give back what is emulated still."""
    if not emulated.fp8 or not multiplies_fp8(device, dtype):
        return emulated.emulated
    left = len(emulated.fp8) - take_fp8(emulated.module, emulated.fp8)
    return (f"FP8 products of {left} layers, of sizes that no kernel takes",) if left else ()


def take_fp8(model: nn.Module, scales: Mapping[str, Fp8Scales]) -> int:
    """Let these layers multiply in FP8, where their sizes allow it; give back how many do."""
    quantize = find_quantize(next(model.parameters()).device)
    taken = 0
    for parent, name, layer, path in list(_layers(model)):
        if path in scales and not any(size % ALIGNED for size in layer.weight.shape):
            setattr(parent, name, Fp8Linear.of(layer, scales[path], quantize))
            taken += 1
    _take_gelu(model)
    if torch.cuda.is_available():
        torch.cuda.empty_cache()  # what the weights took before is of a size that nothing asks for
    return taken


def _take_gelu(model: nn.Module) -> None:
    """Let GELU be a part of rounding what it gives, in the classes that are made as BERT's is."""
    for layer in model.modules():
        before: Any = getattr(layer, "intermediate", None)
        reader = getattr(getattr(layer, "output", None), "dense", None)
        gives_gelu = isinstance(getattr(before, "intermediate_act_fn", None), GELUActivation)
        if gives_gelu and isinstance(reader, Fp8Linear):
            before.intermediate_act_fn = nn.Identity()
            reader.quantizer.is_after_gelu = True


class Quantizer:
    """Rounds an input to FP8; layers that read the same one, one after the other, share it."""

    def __init__(self, scale: Tensor | None, quantize: Quantize) -> None:
        self.scale = scale
        self.readers = 1
        self.is_after_gelu = False
        self._quantize = quantize
        self._input: Tensor | None = None
        self._scales: tuple[Tensor, Tensor] | None = None
        self._left = 0

    def __call__(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Give back the numbers, `[tokens, size]`, and their scale: one, or `[tokens, 1]`."""
        if self._scales is None or self._input is not x:
            flat = x.reshape(-1, x.shape[-1])
            self._input, self._scales = x, self._quantize(flat, self.scale, self.is_after_gelu)
            self._left = self.readers
        scale = self._scales
        self._left -= 1
        if self._left == 0:
            self._input = self._scales = None
        return scale


class Fp8Linear(nn.Module):
    """A linear layer whose weight and input are FP8."""

    def __init__(
        self, weight: Tensor, weight_scale: Tensor, bias: Tensor | None, quantizer: Quantizer
    ) -> None:
        """`weight_scale`: one number, or `[1, rows]` beside tokens that each have their own."""
        super().__init__()
        self.out_features, self.in_features = weight.shape
        self.weight = nn.Parameter(weight, requires_grad=False)
        self.weight_scale = weight_scale
        self.bias = bias
        self.quantizer = quantizer

    @classmethod
    def of(cls, layer: nn.Linear, scales: Fp8Scales, quantize: Quantize) -> "Fp8Linear":
        """Give back the same layer; its weight was stored as FP8, and is so again exactly."""
        device = layer.weight.device
        scale = scales.weight.to(device).float().reshape(-1, 1)
        weight = (layer.weight.float() / scale).to(FP8)
        given = None if scales.input is None else scales.input.to(device).float().reshape(())
        by_token = given is None or len(scale) > 1
        shown = scale.reshape(1, -1).expand(1, len(weight)).contiguous() if by_token else scale
        bias = None if layer.bias is None else layer.bias.detach()
        quantizer = Quantizer(given, quantize)
        return cls(weight, shown if by_token else scale.reshape(()), bias, quantizer)

    def forward(self, x: Tensor) -> Tensor:
        numbers, scale = self.quantizer(x)
        if self.weight_scale.dim() and not scale.dim():  # a kernel takes both by rows, or neither
            scale = scale.expand(len(numbers), 1).contiguous()
        product = torch._scaled_mm(
            numbers, self.weight.t(), scale_a=scale, scale_b=self.weight_scale, bias=self.bias,
            out_dtype=x.dtype, use_fast_accum=True,
        )  # fmt: skip
        return product.unflatten(0, x.shape[:-1])


def joined_fp8(layers: Sequence[Fp8Linear]) -> Fp8Linear | None:
    """Give back several layers of one input as one; none where their scales differ.

    Then they share the rounded input, and multiply one by one.
    """
    first = layers[0]
    if not all(_are_same(first.quantizer.scale, each.quantizer.scale) for each in layers):
        return None
    by_row = first.weight_scale.dim() > 0
    if not by_row and not all(_are_same(first.weight_scale, each.weight_scale) for each in layers):
        _share_input(layers)
        return None
    scales = [each.weight_scale for each in layers]
    biases = [each.bias for each in layers if each.bias is not None]
    return Fp8Linear(
        torch.cat([each.weight.view(torch.uint8) for each in layers]).view(FP8),
        torch.cat(scales, 1) if by_row else scales[0],
        torch.cat(biases) if biases else None,
        first.quantizer,
    )


def _share_input(layers: Sequence[Fp8Linear]) -> None:
    shared = layers[0].quantizer
    shared.readers = len(layers)
    for each in layers:
        each.quantizer = shared


def _are_same(one: Tensor | None, other: Tensor | None) -> bool:
    if one is None or other is None:
        return one is other
    return torch.equal(one, other)


def _layers(model: nn.Module) -> Iterator[tuple[nn.Module, str, nn.Linear, str]]:
    for path, parent in model.named_modules():
        for name, child in parent.named_children():
            if type(child) is nn.Linear:
                yield parent, name, child, f"{path}.{name}".removeprefix(".")
