"""Whether packed integers are the original's, rounded by the scales that lie beside them."""

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from controlplane.domain.failures.registry import gate
from workers.build_steps.failures import StepFailure
from workers.build_steps.gating import failures
from workers.build_steps.gating.originals import Comparison
from workers.build_steps.gating.tensor_files import TensorFiles
from workers.build_steps.quantization.exported import (
    CONFIG,
    PACKED_WEIGHT,
    Exported,
    headers,
    packed_modules,
)
from workers.build_steps.quantization.packed_declaration import declaration
from workers.engine.packed_integers import PER_WORD, dequantize_integers

_SCALE, _SHAPE = "weight_scale", "weight_shape"
_LOOKED_AT = 2**22
"""Numbers of a tensor that are compared one by one; of a larger one, rows evenly apart."""
_HALF_STEP = 0.5
_ROUNDING = 2.0**-6
"""Share by which a number moves where its factors were multiplied in bfloat16, a few times."""
_SCALE_ROUNDING = 2.0**-3
"""Of a step: the scale of a group is rounded, seven steps from its largest number."""

log = logging.getLogger(__name__)


def check_scales(folder: Path) -> dict[str, int]:
    """Return how many scales there are; raises StepFailure that names the first wrong one."""
    files = TensorFiles(folder)
    shapes = {name: shape for name, _, shape in headers(folder)}
    count = 0
    for name, shape in shapes.items():
        module, _, kind = name.rpartition(".")
        if kind == PACKED_WEIGHT:
            count += _check_weight(files, shapes, module, shape)
        elif kind in (_SCALE, _SHAPE) and f"{module}.{PACKED_WEIGHT}" not in shapes:
            raise StepFailure.of(gate.SCALE_UNUSED, name=module)
    return {_SCALE: count}


def check_declaration(folder: Path, export: Exported, calibrated: Mapping[str, Any]) -> None:
    """Raise StepFailure where config.json does not say what the files hold."""
    block = json.loads((folder / CONFIG).read_bytes())["quantization_config"]
    group = _group(folder)
    expected = declaration(calibrated["quant_algo"], group, block.get("ignore") or ())
    for name in sorted(block.keys() | expected.keys()):
        if block.get(name) != expected.get(name):
            made_with = f"the files were made with {json.dumps(expected.get(name))}"
            field = f"quantization_config.{name}"
            raise failures.declared_otherwise(CONFIG, field, block.get(name), made_with)
    for module in packed_modules(folder):
        if module in (export.quant_config.get("exclude_modules") or ()):
            raise failures.declared_otherwise(
                CONFIG, "quantization_config.ignore", block["ignore"], f"`{module}` is quantized"
            )


def compare_with_original(
    original: Path, exported: Path, factors: Mapping[str, Tensor]
) -> Comparison:
    """Return what was compared; raises StepFailure that names the first foreign weight.

    `factors` are what AWQ moved: a weight is the original's, its rows and columns by these.
    """
    ours, theirs = TensorFiles(exported), TensorFiles(original)
    modules = packed_modules(exported)
    left = [module for module in modules if not _compare(ours, theirs, module, factors)]
    for module in left:
        log.warning("`%s` could not be compared: the original has no tensor like it", module)
    return Comparison(quantized=len(modules), not_compared=tuple(left))


def _check_weight(
    files: TensorFiles, shapes: Mapping[str, tuple[int, ...]], module: str, packed: tuple[int, ...]
) -> int:
    rows, columns = packed[0], packed[1] * PER_WORD
    for kind in (_SCALE, _SHAPE):
        if f"{module}.{kind}" not in shapes:
            raise failures.missing_scale(f"{module}.{kind}")
    shape = shapes[f"{module}.{_SCALE}"]
    if len(shape) != 2 or shape[0] != rows or columns % shape[1]:
        raise failures.misshapen_scale(f"{module}.{_SCALE}", shape, (rows, columns))
    original_shape = files.read(f"{module}.{_SHAPE}").tolist()
    if original_shape != [rows, columns]:
        raise failures.misshapen_scale(f"{module}.{_SHAPE}", original_shape, (rows, columns))
    scale = files.read(f"{module}.{_SCALE}").float()
    broken = ~(scale.isfinite() & (scale > 0))
    if broken.any():
        raise failures.broken_scale(f"{module}.{_SCALE}", float(scale[broken][0]))
    return int(scale.numel())


def _group(folder: Path) -> int:
    shapes = {name: shape for name, _, shape in headers(folder)}
    module = packed_modules(folder)[0]
    columns = shapes[f"{module}.{PACKED_WEIGHT}"][1] * PER_WORD
    return int(columns // shapes[f"{module}.{_SCALE}"][1])


def _compare(
    ours: TensorFiles, theirs: TensorFiles, module: str, factors: Mapping[str, Tensor]
) -> bool:
    """Return whether the original has something like it; raises StepFailure for another's."""
    name = f"{module}.weight"
    original = theirs.read_like(name)
    if original is None:
        return False
    words, scale = ours.read(f"{module}.{PACKED_WEIGHT}"), ours.read(f"{module}.{_SCALE}")
    shape = (words.shape[0], words.shape[1] * PER_WORD)
    if tuple(original.shape) != shape:
        raise failures.foreign_weight(name, f"has the shape {list(shape)}", tuple(original.shape))
    expected = _with_factors(
        original.float(), factors.get(f"{module}.rows"), factors.get(f"{module}.columns")
    )
    if moved := _moved(words, scale, expected):
        value, right = moved
        raise failures.foreign_weight(name, f"holds {value:.4g}", f"{right:.4g}")
    return True


def _with_factors(weight: Tensor, rows: Tensor | None, columns: Tensor | None) -> Tensor:
    if rows is not None:
        weight = weight * rows.float()[:, None]
    return weight if columns is None else weight / columns.float()


def _moved(words: Tensor, scale: Tensor, original: Tensor) -> tuple[float, float] | None:
    """Return a number that is another's and what it should be, None where all are the original's.

    Each is beside its own one by half a step of its group.
    """
    every = max(1, original.numel() // _LOOKED_AT)
    expected, scale = original[::every], scale[::every].float()
    dequantized = dequantize_integers(words[::every], scale)
    step = scale.repeat_interleave(dequantized.shape[1] // scale.shape[1], dim=1)
    allowed = step * (_HALF_STEP + _SCALE_ROUNDING) + expected.abs() * _ROUNDING
    wrong = (dequantized - expected).abs() > allowed
    if not wrong.any():
        return None
    place = tuple(wrong.nonzero()[0])
    return float(dequantized[place]), float(expected[place])
