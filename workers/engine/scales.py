"""Whether the scales of a quantized checkpoint are all there and are numbers to divide by."""

from collections.abc import Iterator

import torch

from workers.engine.errors import CheckpointRefused
from workers.engine.rounding import NVFP4_BLOCK
from workers.engine.scheme import Inputs, Number, Scheme
from workers.engine.stored_tensors import StoredTensors

_STORED_AS = {Number.FP8: "F8_E4M3", Number.NVFP4: "U8"}
_QUANTIZED = frozenset(_STORED_AS.values())
_NUMBERS = ("weight_scale_2", "input_scale", "k_scale", "v_scale")
"""One for a whole tensor."""
_KNOWN = ("weight_scale", *_NUMBERS)
_CACHE = ("k_scale", "v_scale")
_OF_QUANTIZATION = ("scale", "scale_inv", "scale_2", "zero_point", "qzeros", "g_idx")
ANEW = "Export the checkpoint again, or build from the original one."
"""What to do about a checkpoint whose parts do not belong together."""


def check_scales(stored: StoredTensors, scheme: Scheme) -> frozenset[str]:
    """Return the quantized modules' names. Raises: `CheckpointRefused` for the first wrong one."""
    quantized = frozenset(_quantized_modules(stored, scheme))
    if not quantized:
        raise CheckpointRefused(
            f"The checkpoint calls itself quantized to {scheme.number} with {scheme.method}, and "
            f"none of its weights is. {ANEW}"
        )
    for module in sorted(quantized):
        for kind in _needed(scheme):
            if f"{module}.{kind}" not in stored:
                raise CheckpointRefused(f"`{module}` is quantized and has no `{kind}`. {ANEW}")
        _check_shape(stored, module, scheme)
    for name in stored:
        _check_one(stored, name, quantized)
    return quantized


def _quantized_modules(stored: StoredTensors, scheme: Scheme) -> Iterator[str]:
    for name in stored:
        module, _, kind = name.rpartition(".")
        dtype = stored.dtype(name)
        if kind != "weight" or dtype not in _QUANTIZED:
            continue
        if dtype != _STORED_AS[scheme.number]:
            raise CheckpointRefused(
                f"`{name}` is stored as {dtype}, and the checkpoint calls itself {scheme.number}. "
                f"{ANEW}"
            )
        yield module


def _needed(scheme: Scheme) -> Iterator[str]:
    yield "weight_scale"
    if scheme.number is Number.NVFP4:
        yield "weight_scale_2"
    if scheme.inputs is Inputs.EXPORTED:
        yield "input_scale"


def _check_shape(stored: StoredTensors, module: str, scheme: Scheme) -> None:
    """Refuse scales that are not one number, one per row (FP8) or one per block (NVFP4)."""
    rows, columns = stored.shape(f"{module}.weight")
    found = stored.shape(f"{module}.weight_scale")
    if scheme.number is Number.NVFP4:
        fits = found == (rows, columns * 2 // NVFP4_BLOCK)  # two numbers a byte
    else:
        fits = found in ((), (1,), (1, 1), (rows,), (rows, 1))
    if not fits:
        raise CheckpointRefused(
            f"`{module}.weight_scale` is {list(found)}, which the native engine cannot apply to a "
            f"{scheme.number} weight stored as {[rows, columns]}. {ANEW}"
        )


def _check_one(stored: StoredTensors, name: str, quantized: frozenset[str]) -> None:
    module, _, kind = name.rpartition(".")
    if kind in _KNOWN:
        if module not in quantized and kind not in _CACHE:
            raise CheckpointRefused(f"`{name}` belongs to no quantized layer. {ANEW}")
        if kind in _NUMBERS:
            _check_number(stored, name)
    elif kind.endswith(_OF_QUANTIZATION):
        raise CheckpointRefused(f"The native engine does not know what `{name}` is for. {ANEW}")


def _check_number(stored: StoredTensors, name: str) -> None:
    scale = stored[name].float()
    if scale.numel() != 1:
        raise CheckpointRefused(f"`{name}` holds {scale.numel()} numbers instead of one. {ANEW}")
    if not bool(torch.isfinite(scale).all()) or float(scale) <= 0:
        raise CheckpointRefused(f"`{name}` is {float(scale)}, which is no scale. {ANEW}")
