"""Whether the exported numbers are those of the original: each scale by its largest value."""

import logging
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from workers.build_steps.failures import StepFailure
from workers.build_steps.gating import failures
from workers.build_steps.gating.rounded import SIXTEEN_BITS, Rounded, find_fault
from workers.build_steps.gating.tensor_files import TensorFiles
from workers.build_steps.quantization.exported import kind_of

_FP8, _FP4 = "F8_E4M3", "U8"

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """How many quantized tensors there are, and those that no tensor of the original matches."""

    quantized: int
    not_compared: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return what results store; of layers and experts alike, how many are not compared."""
        return {
            "quantized": self.quantized,
            "compared": self.quantized - len(self.not_compared),
            "not_compared": dict(sorted(Counter(map(kind_of, self.not_compared)).items())),
        }


@dataclass(frozen=True, kw_only=True)
class _Weight:
    """One weight, as far as the scale of all of it goes."""

    scale_name: str
    expressed: float
    """The largest value that its scale can express."""
    largest: float
    """The largest value of the original."""
    columns: int
    fault: StepFailure | None
    """What is wrong within it, by the scale that it has."""


def compare_with_original(original: Path, exported: Path) -> Comparison:
    """Return what was compared; raises StepFailure that names the first foreign scale or weight.

    A scale is the largest value of its own weight, or of one beside it that reads the same input:
    engines multiply with such weights at once, so that they may share their scale.
    """
    ours, theirs = TensorFiles(exported), TensorFiles(original)
    quantized = [name for name in ours.dtypes if _is_quantized(ours, name)]
    read = {name: _read(_rounded(ours, name), theirs) for name in quantized}
    weights = {name: each for name, each in read.items() if each is not None}
    for name, scale, expected in _foreign(weights):
        raise failures.foreign_scale(scale, weights[name].expressed / expected, expected)
    for each in weights.values():
        if each.fault is not None:
            raise each.fault
    return _comparison(quantized, weights)


def _is_quantized(files: TensorFiles, name: str) -> bool:
    return files.dtypes[name] in (_FP8, _FP4) and "scale" not in name.rpartition(".")[2]


def _rounded(files: TensorFiles, name: str) -> Rounded:
    if not name.endswith(".weight"):
        return _rounded_experts(files, name)
    return Rounded(
        name=name,
        scale_name=f"{name}_scale",
        weight=files.read(name),
        scale=files.read(f"{name}_scale"),
        whole_scale=_whole_scale(files, name, f"{name}_scale_2"),
    )


def _rounded_experts(files: TensorFiles, name: str) -> Rounded:
    """Return a layer's experts that are one tensor: no `weight` in its name, rows for columns."""
    scale_name = f"{name}_weight_scale"
    scale = files.read(scale_name)
    return Rounded(
        name=name,
        scale_name=scale_name,
        weight=files.read(name).mT,
        scale=scale.mT if scale.dim() > 1 else scale,
        whole_scale=_whole_scale(files, name, f"{scale_name}_2"),
    )


def _whole_scale(files: TensorFiles, name: str, scale_name: str) -> Tensor | None:
    return files.read(scale_name) if files.dtypes[name] == _FP4 else None


def _read(rounded: Rounded, originals: TensorFiles) -> _Weight | None:
    """Return None where the original has nothing like it."""
    tensor = originals.read_like(rounded.name)
    if tensor is not None:
        tensor = tensor if rounded.name.endswith(".weight") else tensor.mT
        if tuple(tensor.shape) == rounded.shape:
            return _weight(rounded, tensor)
        what = f"has the shape {list(rounded.shape)}"
        raise failures.foreign_weight(rounded.name, what, tuple(tensor.shape))
    return _nearest(rounded, originals.read_expert(rounded.name))


def _nearest(rounded: Rounded, candidates: Sequence[Tensor]) -> _Weight | None:
    """Return the weight by the candidate that it is, where it is one; a square one fits twice."""
    fitting = [_weight(rounded, each) for each in candidates if tuple(each.shape) == rounded.shape]
    return min(fitting, key=lambda each: each.fault is not None, default=None)


def _weight(rounded: Rounded, original: Tensor) -> _Weight:
    is_fp4 = rounded.whole_scale is not None
    return _Weight(
        scale_name=f"{rounded.scale_name}_2" if is_fp4 else rounded.scale_name,
        expressed=rounded.largest,
        largest=max(abs(float(each)) for each in original.aminmax()),
        columns=rounded.shape[-1],
        fault=find_fault(rounded, original),
    )


def _foreign(weights: Mapping[str, _Weight]) -> Iterator[tuple[str, str, float]]:
    """Yield weight, name of its scale and the value that its scale should express."""
    beside: dict[tuple[str, int], list[float]] = defaultdict(list)
    for name, each in weights.items():
        beside[_place(name, each)].append(each.largest)
    for name, each in weights.items():
        allowed = [amax for amax in beside[_place(name, each)] if amax >= each.largest]
        if not any(abs(each.expressed - amax) <= amax * SIXTEEN_BITS for amax in allowed):
            yield name, each.scale_name, each.largest


def _place(name: str, weight: _Weight) -> tuple[str, int]:
    """Return the module above the weight's own and the width of its input."""
    return name.removesuffix(".weight").rpartition(".")[0], weight.columns


def _comparison(quantized: Sequence[str], weights: Mapping[str, _Weight]) -> Comparison:
    left = tuple(name for name in quantized if name not in weights)
    for name in left:
        log.warning("`%s` could not be compared: the original has no tensor like it", name)
    return Comparison(quantized=len(quantized), not_compared=left)
