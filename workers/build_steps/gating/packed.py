"""Whether packed integers are the original's, rounded by the scales that lie beside them."""

import json
import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from workers.build_steps.gating import failures
from workers.build_steps.gating.originals import Comparison
from workers.build_steps.gating.tensor_files import TensorFiles
from workers.build_steps.quantization.exported import CONFIG, PACKED_WEIGHT, Exported, headers
from workers.build_steps.quantization.packed_declaration import declaration
from workers.engine.packed_integers import PER_WORD, dequantize_integers

_SCALE, _SHAPE = "weight_scale", "weight_shape"
_LOOKED_AT = 2**22
"""Numbers of a tensor that are compared one by one; of a larger one, rows evenly apart."""
_FITS = 4
"""Times that factors of rows and of columns are found, each by the other."""
_HALF_STEP = 0.5
_ROUNDING = 0.06
"""Share by which the factors that were found, and bfloat16, may move a number beside its step."""
_OUTLIERS = 1e-3
"""Share of the numbers that may be moved further: a factor is found by few numbers, too."""

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
            raise failures.unused_scale(module)
    return {_SCALE: count}


def check_declaration(folder: Path, found: Exported, calibrated: Mapping[str, Any]) -> None:
    """Raise StepFailure where config.json does not say what the files hold."""
    block = json.loads((folder / CONFIG).read_bytes())["quantization_config"]
    group = _group(folder)
    wanted = declaration(calibrated["quant_algo"], group, block.get("ignore") or ())
    for name in sorted(block.keys() | wanted.keys()):
        if block.get(name) != wanted.get(name):
            held = f"the files were made with {json.dumps(wanted.get(name))}"
            said = f"quantization_config.{name}"
            raise failures.declared_otherwise(CONFIG, said, block.get(name), held)
    for module in _modules(folder):
        if module in (found.quant_config.get("exclude_modules") or ()):
            raise failures.declared_otherwise(
                CONFIG, "quantization_config.ignore", block["ignore"], f"`{module}` is quantized"
            )


def compare_with_original(original: Path, exported: Path) -> Comparison:
    """Return what was compared; raises StepFailure that names the first foreign weight.

    AWQ moves a factor from columns of a weight into the layer before: a weight is the original's
    up to one factor a row and one a column, which are found here.
    """
    ours, theirs = TensorFiles(exported), TensorFiles(original)
    modules = list(_modules(exported))
    left = [module for module in modules if not _compare(ours, theirs, module)]
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
    told = files.read(f"{module}.{_SHAPE}").tolist()
    if told != [rows, columns]:
        raise failures.misshapen_scale(f"{module}.{_SHAPE}", told, (rows, columns))
    scale = files.read(f"{module}.{_SCALE}").float()
    broken = ~(scale.isfinite() & (scale > 0))
    if broken.any():
        raise failures.broken_scale(f"{module}.{_SCALE}", float(scale[broken][0]))
    return int(scale.numel())


def _group(folder: Path) -> int:
    shapes = {name: shape for name, _, shape in headers(folder)}
    module = next(_modules(folder))
    columns = shapes[f"{module}.{PACKED_WEIGHT}"][1] * PER_WORD
    return int(columns // shapes[f"{module}.{_SCALE}"][1])


def _modules(folder: Path) -> Iterator[str]:
    for name, _, _ in headers(folder):
        if name.endswith(f".{PACKED_WEIGHT}"):
            yield name.removesuffix(f".{PACKED_WEIGHT}")


def _compare(ours: TensorFiles, theirs: TensorFiles, module: str) -> bool:
    """Return whether the original has something like it; raises StepFailure for another's."""
    name = f"{module}.weight"
    found = theirs.read_like(name)
    candidates = theirs.read_expert(name) if found is None else [found]
    words, scale = ours.read(f"{module}.{PACKED_WEIGHT}"), ours.read(f"{module}.{_SCALE}")
    shape = (words.shape[0], words.shape[1] * PER_WORD)
    fitting = [each for each in candidates if tuple(each.shape) == shape]
    if found is not None and not fitting:
        raise failures.foreign_weight(name, f"has the shape {list(shape)}", tuple(found.shape))
    moved = [_moved(words, scale, each) for each in fitting]
    if moved and all(moved):
        value, wanted = moved[0] or (0.0, 0.0)
        raise failures.foreign_weight(name, f"holds {value:.4g}", f"{wanted:.4g}")
    return bool(fitting)


def _moved(words: Tensor, scale: Tensor, original: Tensor) -> tuple[float, float] | None:
    """Return a number that is another's and what it should be, None where all are the original's.

    Each is beside its own one by half a step of its group.
    """
    every = max(1, original.numel() // _LOOKED_AT)
    wanted = original[::every].float()
    scale = scale[::every].float()
    plain = dequantize_integers(words[::every], scale)
    rows, columns = _factors(plain, wanted)
    step = scale.repeat_interleave(plain.shape[1] // scale.shape[1], dim=1)
    factor = (rows[:, None] * columns[None, :]).abs()
    allowed = factor * step * _HALF_STEP + wanted.abs() * _ROUNDING + factor * step * _ROUNDING
    found = plain * rows[:, None] * columns[None, :]
    wrong = (found - wanted).abs() > allowed
    if float(wrong.float().mean()) <= _OUTLIERS:
        return None
    place = tuple(wrong.nonzero()[0])
    return float(found[place]), float(wanted[place])


def _factors(plain: Tensor, wanted: Tensor) -> tuple[Tensor, Tensor]:
    """Return the factors of rows and columns by which the numbers come nearest to the original."""
    rows, columns = plain.new_ones(plain.shape[0]), plain.new_ones(plain.shape[1])
    for _ in range(_FITS):
        columns = _fit(plain * rows[:, None], wanted, 0)
        rows = _fit(plain * columns[None, :], wanted, 1)
    return rows, columns


def _fit(numbers: Tensor, wanted: Tensor, dim: int) -> Tensor:
    squares = (numbers * numbers).sum(dim)
    return (numbers * wanted).sum(dim) / squares.clamp(min=1e-30)
