"""Whether FP8 in blocks is the original's, rounded by the scales that lie beside it."""

import json
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path

from torch import Tensor

from controlplane.domain.failures.registry import gate
from workers.build_steps.failures import StepFailure
from workers.build_steps.gating import failures
from workers.build_steps.gating.originals import Comparison
from workers.build_steps.gating.rounded import E4M3_LARGEST, SIXTEEN_BITS, find_fp8_fault
from workers.build_steps.gating.tensor_files import TensorFiles
from workers.build_steps.quantization.block_scales import block_declaration
from workers.build_steps.quantization.exported import BLOCK_SCALE, CONFIG, Exported, headers
from workers.engine.rounding import FP8_BLOCK

_FP8 = "F8_E4M3"

log = logging.getLogger(__name__)


def check_scales(folder: Path) -> dict[str, int]:
    """Return how many scales there are; raises StepFailure that names the first wrong one."""
    files = TensorFiles(folder)
    stored = {name: (dtype, shape) for name, dtype, shape in headers(folder)}
    count = 0
    for name, (dtype, shape) in stored.items():
        module, _, kind = name.rpartition(".")
        if dtype == _FP8:
            count += _check_weight(files, stored, name, shape)
        elif kind == BLOCK_SCALE and stored.get(f"{module}.weight", ("",))[0] != _FP8:
            raise StepFailure.of(gate.SCALE_UNUSED, name=module)
    return {BLOCK_SCALE: count}


def check_declaration(folder: Path, export: Exported) -> None:
    """Raise StepFailure where config.json does not say what the files hold."""
    block = json.loads((folder / CONFIG).read_bytes())["quantization_config"]
    left = block.get("modules_to_not_convert") or ()
    expected = block_declaration(left)
    for name in sorted(block.keys() | expected.keys()):
        if block.get(name) != expected.get(name):
            made_with = f"the files were made with {json.dumps(expected.get(name))}"
            field = f"quantization_config.{name}"
            raise failures.declared_otherwise(CONFIG, field, block.get(name), made_with)
    for module in _quantized(folder):
        if module in left:
            raise failures.declared_otherwise(
                CONFIG, "quantization_config.modules_to_not_convert", left,
                f"`{module}` is quantized",
            )  # fmt: skip


def compare_with_original(original: Path, exported: Path) -> Comparison:
    """Return what was compared; raises StepFailure that names the first foreign scale or weight."""
    ours, theirs = TensorFiles(exported), TensorFiles(original)
    modules = _quantized(exported)
    left = [module for module in modules if not _compare(ours, theirs, module, modules)]
    for module in left:
        log.warning("`%s` could not be compared: the original has no tensor like it", module)
    return Comparison(quantized=len(modules), not_compared=tuple(left))


def _check_weight(
    files: TensorFiles,
    stored: Mapping[str, tuple[str, tuple[int, ...]]],
    weight: str,
    shape: tuple[int, ...],
) -> int:
    name = f"{weight.removesuffix('.weight')}.{BLOCK_SCALE}"
    if name not in stored:
        raise failures.missing_scale(name)
    expected = tuple(-(-each // FP8_BLOCK) for each in shape)
    if stored[name][1] != expected:
        raise failures.misshapen_scale(name, stored[name][1], expected)
    scale = files.read(name).float()
    broken = ~(scale.isfinite() & (scale > 0))
    if broken.any():
        raise failures.broken_scale(name, float(scale[broken][0]))
    return int(scale.numel())


def _compare(ours: TensorFiles, theirs: TensorFiles, module: str, modules: Sequence[str]) -> bool:
    """Return whether the original has something like it; raises StepFailure for another's."""
    name = f"{module}.weight"
    weight, like = ours.read(name), theirs.read_like(name)
    # An expert of a stacked tensor is given either way round.
    originals = theirs.read_expert(name) if like is None else [like]
    if not originals:
        return False
    scale = ours.read(f"{module}.{BLOCK_SCALE}").float()
    beside = _beside(theirs, module, modules) if scale.numel() == 1 else []
    faults = [_fault(module, weight, scale, each, beside) for each in originals]
    if all(faults) and faults[0] is not None:
        raise faults[0]
    return True


def _fault(
    module: str, weight: Tensor, scale: Tensor, original: Tensor, beside: Sequence[float]
) -> StepFailure | None:
    """Return what is another's: the weight's shape, the scale of a block, or a number."""
    name = f"{module}.weight"
    if original.shape != weight.shape:
        shape = f"has the shape {list(weight.shape)}"
        return failures.foreign_weight(name, shape, tuple(original.shape))
    wide = _as_wide(scale)[: weight.shape[0], : weight.shape[1]]
    foreign = _foreign_scale(f"{module}.{BLOCK_SCALE}", scale, original.float(), beside)
    return foreign or find_fp8_fault(name, weight, wide, original)


def _foreign_scale(
    name: str, scale: Tensor, original: Tensor, beside: Sequence[float]
) -> StepFailure | None:
    """Return the failure of a scale that does not express the largest number of its block."""
    rows, columns = (each * FP8_BLOCK for each in scale.shape)
    padded = original.new_zeros(rows, columns)
    padded[: original.shape[0], : original.shape[1]] = original.abs()
    largest = padded.unflatten(0, (-1, FP8_BLOCK)).unflatten(-1, (-1, FP8_BLOCK)).amax((1, 3))
    wrong = ((scale * E4M3_LARGEST - largest).abs() > largest * SIXTEEN_BITS) & (largest > 0)
    if not wrong.any() or _is_shared(scale, largest, beside):
        return None
    row, column = (int(each) for each in wrong.nonzero()[0])
    actual, expected = float(scale[row, column]) * E4M3_LARGEST, float(largest[row, column])
    place = f"block {row} of rows, {column} of columns"
    return failures.foreign_scale(name, actual / expected, expected, block=place)


def _is_shared(scale: Tensor, largest: Tensor, beside: Sequence[float]) -> bool:
    """Return whether a weight of one block has the scale of a larger one that reads its input.

    ModelOpt takes such a scale for that of a whole tensor, which engines share.
    """
    actual = float(scale.flatten()[0]) * E4M3_LARGEST
    larger = (each for each in beside if each >= float(largest.max()))
    return scale.numel() == 1 and any(abs(actual - each) <= each * SIXTEEN_BITS for each in larger)


def _beside(theirs: TensorFiles, module: str, modules: Sequence[str]) -> list[float]:
    above = module.rpartition(".")[0]
    near = [each for each in modules if each.rpartition(".")[0] == above]
    weights = (theirs.read_like(f"{each}.weight") for each in near)
    return [float(each.float().abs().max()) for each in weights if each is not None]


def _as_wide(scale: Tensor) -> Tensor:
    return scale.repeat_interleave(FP8_BLOCK, 0).repeat_interleave(FP8_BLOCK, 1)


def _quantized(folder: Path) -> list[str]:
    return [name.removesuffix(".weight") for name, dtype, _ in headers(folder) if dtype == _FP8]
