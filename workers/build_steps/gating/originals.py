"""Whether the exported numbers are those of the original: each scale by its largest value."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from torch import Tensor

from workers.build_steps.failures import StepFailure
from workers.build_steps.gating import failures
from workers.engine.quantized import dequantize_nvfp4
from workers.engine.rounding import NVFP4_BLOCK

_E4M3_LARGEST = 448.0
_E2M1_LARGEST = 6.0
_SIXTEEN_BITS = 2.0**-8
"""What the largest value moves by, as a share, where the weights were computed in bfloat16."""
_E4M3_ROUNDING = 2.0**-4 + _SIXTEEN_BITS
_E4M3_SMALLEST_HALF_STEPS = 2.0**-9
"""Two halves of the smallest step of E4M3, in units of its scale."""
_E2M1_ROUNDING = 1.1
"""Half the largest step of E2M1, in units of its block's scale, and what that was rounded by."""
_LOOKED_AT = 2**22
"""Numbers of a weight that are compared one by one; of a larger one, rows evenly apart."""


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """How many quantized weights there are, and how many of them the original names too."""

    quantized: int
    compared: int

    def to_json(self) -> dict[str, int]:
        """Return the counts that results store."""
        return {"quantized": self.quantized, "compared": self.compared}


@dataclass(frozen=True, kw_only=True)
class _Weight:
    """One weight, as far as the scale of all of it goes."""

    scale_name: str
    found: float
    """The largest value that its scale can express."""
    largest: float
    """The largest value of the original."""
    columns: int
    fault: StepFailure | None
    """What is wrong within it, by the scale that it has."""


def compare_with_original(original: Path, exported: Path) -> Comparison:
    """Return the counts; raises StepFailure that names the first scale or weight that is foreign.

    A scale is the largest value of its own weight, or of one beside it that reads the same input:
    engines multiply with such weights at once, so that they may share their scale.
    """
    ours, theirs = _Files(exported), _Files(original)
    quantized = [name for name in ours.dtypes if _is_quantized(ours, name)]
    weights = {}
    for name in quantized:
        if (source := theirs.named_like(name)) is not None:
            weights[name] = _read(ours, name, theirs.read(source))
    for name, scale, expected in _foreign(weights):
        raise failures.foreign_scale(scale, weights[name].found / expected, expected)
    for each in weights.values():
        if each.fault is not None:
            raise each.fault
    return Comparison(quantized=len(quantized), compared=len(weights))


def _is_quantized(files: "_Files", name: str) -> bool:
    return name.endswith(".weight") and files.dtypes[name] in ("F8_E4M3", "U8")


def _foreign(weights: Mapping[str, _Weight]) -> Iterator[tuple[str, str, float]]:
    """Yield weight, name of its scale and the value that its scale should express."""
    beside: dict[tuple[str, int], list[float]] = defaultdict(list)
    for name, each in weights.items():
        beside[_place(name, each)].append(each.largest)
    for name, each in weights.items():
        allowed = [found for found in beside[_place(name, each)] if found >= each.largest]
        if not any(abs(each.found - found) <= found * _SIXTEEN_BITS for found in allowed):
            yield name, each.scale_name, each.largest


def _place(name: str, weight: _Weight) -> tuple[str, int]:
    """Return the module above the weight's own and the width of its input."""
    return name.removesuffix(".weight").rpartition(".")[0], weight.columns


def _read(files: "_Files", name: str, original: Tensor) -> _Weight:
    module = name.removesuffix(".weight")
    weight, scale = files.read(name), files.read(f"{module}.weight_scale").float()
    is_fp4 = weight.dtype is torch.uint8
    rows, columns = weight.shape[0], weight.shape[-1] * (2 if is_fp4 else 1)
    if (rows, columns) != tuple(original.shape):
        raise failures.foreign_weight(name, f"has the shape {[rows, columns]}", original.shape)
    every = max(1, original.numel() // _LOOKED_AT)
    weight, looked_at, largest = weight[::every], original[::every].float(), _largest(original)
    if not is_fp4:
        found, fault = float(scale) * _E4M3_LARGEST, _fp8_fault(name, weight, scale, looked_at)
        scale_name = f"{module}.weight_scale"
    else:
        scale_name = f"{module}.weight_scale_2"
        whole = files.read(scale_name).float()
        found = float(whole) * _E4M3_LARGEST * _E2M1_LARGEST
        fault = _fp4_fault(module, weight, scale[::every], whole, looked_at)
    return _Weight(
        scale_name=scale_name, found=found, largest=largest, columns=columns, fault=fault
    )


def _largest(original: Tensor) -> float:
    return max(abs(float(each)) for each in original.aminmax())


def _fp8_fault(name: str, weight: Tensor, scale: Tensor, original: Tensor) -> StepFailure | None:
    allowed = original.abs() * _E4M3_ROUNDING + scale * _E4M3_SMALLEST_HALF_STEPS
    return _first_moved(name, weight.float() * scale, original, allowed)


def _fp4_fault(
    module: str, weight: Tensor, scale: Tensor, whole: Tensor, original: Tensor
) -> StepFailure | None:
    """Return the failure of the first block whose scale, or number whose value, is another's."""
    largest = original.unflatten(-1, (-1, NVFP4_BLOCK)).abs().amax(-1)
    found, smallest = scale * whole * _E2M1_LARGEST, whole * _E2M1_LARGEST
    allowed = largest * _E4M3_ROUNDING + smallest * _E4M3_SMALLEST_HALF_STEPS
    wrong = ((found - largest).abs() > allowed) & (largest > 0)
    if wrong.any():
        row, block = (int(each) for each in wrong.nonzero()[0])
        unit = float(whole) * _E2M1_LARGEST
        return failures.foreign_scale(
            f"{module}.weight_scale", float(scale[row, block]) * unit / float(largest[row, block]),
            float(largest[row, block]), block=f"row {row}, block {block}",
        )  # fmt: skip
    steps = (scale * whole).repeat_interleave(NVFP4_BLOCK, dim=-1) * _E2M1_ROUNDING
    allowed = steps + original.abs() * _E4M3_ROUNDING
    values = dequantize_nvfp4(weight, scale, whole)
    return _first_moved(f"{module}.weight", values, original, allowed)


def _first_moved(
    name: str, values: Tensor, original: Tensor, allowed: Tensor
) -> StepFailure | None:
    moved = (values - original).abs() > allowed
    if not moved.any():
        return None
    place = tuple(moved.nonzero()[0])
    return failures.foreign_weight(
        name, f"holds {float(values[place]):.4g}", f"{float(original[place]):.4g}"
    )


class _Files:
    """The tensors of a folder by name, each read when it is asked for."""

    def __init__(self, folder: Path) -> None:
        self.dtypes: dict[str, str] = {}
        self._files: dict[str, Any] = {}
        for path in sorted(folder.glob("*.safetensors")):
            file: Any = safe_open(path, "pt")
            for name in file.keys():  # noqa: SIM118  # not a mapping
                self.dtypes[name] = file.get_slice(name).get_dtype()
                self._files[name] = file

    def read(self, name: str) -> Tensor:
        tensor: Tensor = self._files[name].get_tensor(name)
        return tensor

    def named_like(self, name: str) -> str | None:
        """Return the tensor of that name, or the only one that has more or less in front of it."""
        if name in self.dtypes:
            return name
        similar = [
            each for each in self.dtypes if each.endswith(f".{name}") or name.endswith(f".{each}")
        ]
        return similar[0] if len(similar) == 1 else None
