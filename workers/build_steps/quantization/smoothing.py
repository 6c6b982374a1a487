"""Activation-aware scales moved into the layers before, so that a product needs none of its own.

AWQ makes the columns of a weight that matter larger and its input smaller by as much. Engines that
read packed integers have no place for the second half. It goes into the norm whose output nothing
but such products read, and into the rows of the projection that is multiplied into a gated
feed-forward layer; where there is neither, the weight gets back what it was and is rounded as it
stands. Each move is tried, and taken back where the layer then answers otherwise.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from workers.build_steps.quantization.norm_readers import readers_of_norms
from workers.engine.packed_integers import LARGEST

SMOOTHING_FILE = "smoothing.safetensors"
_ROWS, _COLUMNS = "rows", "columns"
_PROBES = 8
_ROUNDING = 0.02
"""Share of its length by which an answer in bfloat16 moves, several times over."""
_SMALLEST_LARGEST = 1e-30
"""Of a group of zeros: its scale is a number all the same."""


@dataclass(frozen=True, kw_only=True)
class Smoothing:
    """How many layers keep their activation-aware scales, and how many are rounded without."""

    kept: int
    left_out: int
    rows: Mapping[str, Tensor]
    """Module -> what its rows were multiplied by."""
    columns: Mapping[str, Tensor]
    """Module -> what its columns were divided by."""

    def to_json(self) -> dict[str, Any]:
        return {"smoothed": {"kept": self.kept, "left_out": self.left_out}}


def move_smoothing(model: nn.Module, sample: Sequence[int], scale_dtype: torch.dtype) -> Smoothing:
    """Return what was moved; afterwards no layer needs a scale for its input.

    Scales of groups become numbers of `scale_dtype`, in which they are stored.
    """
    smoothed = [each for each in model.modules() if _factor(each) is not None]
    with torch.inference_mode():
        with _unquantized(smoothed):
            _into_feed_forward(model)
            _into_norms(model, sample)
        left_out = [each for each in smoothed if _factor(each) is not None]
        for each in left_out:
            _take_back(each)
        for each in _packed(model):
            _set_scales(each, scale_dtype)
    return Smoothing(
        kept=len(smoothed) - len(left_out),
        left_out=len(left_out),
        rows=_of_modules(model, _ROWS),
        columns=_of_modules(model, _COLUMNS),
    )


def write_smoothing(
    folder: Path, smoothing: Smoothing, modules: Iterable[str], named: Callable[[str], str]
) -> None:
    tensors = {
        f"{module}.{kind}": factors[named(module)].cpu().contiguous()
        for module in modules
        for kind, factors in ((_ROWS, smoothing.rows), (_COLUMNS, smoothing.columns))
        if named(module) in factors
    }
    save_file(tensors, folder / SMOOTHING_FILE)


def read_smoothing(folder: Path) -> Mapping[str, Tensor]:
    """Return `module.rows` and `module.columns`; empty for a step that moved nothing."""
    path = folder / SMOOTHING_FILE
    return load_file(path) if path.exists() else {}


def _of_modules(model: nn.Module, kind: str) -> dict[str, Tensor]:
    return {
        name: vars(module)[f"_{kind}_factor"]
        for name, module in model.named_modules()
        if f"_{kind}_factor" in vars(module)
    }


def _into_feed_forward(model: nn.Module) -> None:
    for module in model.modules():
        parts: Any = [getattr(module, name, None) for name in ("gate_proj", "up_proj", "down_proj")]
        if not all(isinstance(each, nn.Linear) for each in parts):
            continue
        _, up, down = parts
        factor = _factor(down)
        if factor is not None and up.weight.shape[0] == factor.numel():
            _try_move(module, down, up.in_features, [(up, factor)])


def _try_move(
    module: nn.Module, owner: Any, width: int, rows: Sequence[tuple[Any, Tensor]]
) -> None:
    """Scale rows instead of the owner's input, where the module answers as before."""
    probe = _probe(owner, width)
    try:
        before = module(probe)
    except (RuntimeError, TypeError, ValueError):  # one that takes more than its input
        return
    kept = [(each, each.weight.data, _bias(each)) for each, _ in rows]
    for each, factor in rows:
        _scale_rows(each, factor)
    factor = owner.input_quantizer._pre_quant_scale
    del owner.input_quantizer._pre_quant_scale
    if _same(module(probe), before):
        _note(owner, _COLUMNS, factor)
        for each, own in rows:
            _note(each, _ROWS, own)
        return
    owner.input_quantizer.pre_quant_scale = factor
    for each, weight, bias in kept:
        each.weight.data = weight
        if bias is not None:
            each.bias.data = bias


def _into_norms(model: nn.Module, sample: Sequence[int]) -> None:
    for norm, readers in readers_of_norms(model, sample, _is_smoothed):
        factors = [_factor(each) for each in readers]
        foldable = [each for each in factors if each is not None]
        if not foldable or len(foldable) < len(readers):
            continue
        mean = torch.stack([each.float() for each in foldable]).mean(0)
        if _fold(norm, mean):
            for reader, own in zip(readers, foldable, strict=True):
                reader.weight.data = (reader.weight.float() * own.float() / mean).to(
                    reader.weight.dtype
                )
                del reader.input_quantizer._pre_quant_scale
                _note(reader, _COLUMNS, mean)


def _fold(norm: Any, factor: Tensor) -> bool:
    """Return whether the norm now gives its output times the factor."""
    weight, bias = norm.weight.data, _bias(norm)
    probe = _probe(norm, factor.numel())
    try:
        expected = norm(probe).float() * factor
    except (RuntimeError, TypeError, ValueError):  # one that takes more than its input
        return False
    # Some classes keep the weight's distance from one.
    for changed in (weight.float() * factor, (weight.float() + 1) * factor - 1):
        norm.weight.data = changed.to(weight.dtype)
        if bias is not None:
            norm.bias.data = (bias.float() * factor).to(bias.dtype)
        if _same(norm(probe), expected):
            return True
    norm.weight.data = weight
    if bias is not None:
        norm.bias.data = bias
    return False


def _note(module: Any, kind: str, factor: Tensor) -> None:
    vars(module)[f"_{kind}_factor"] = factor.float().clone()


def _take_back(module: Any) -> None:
    factor = module.input_quantizer._pre_quant_scale
    module.weight.data = (module.weight.float() * factor.float()).to(module.weight.dtype)
    del module.input_quantizer._pre_quant_scale


def _set_scales(module: Any, dtype: torch.dtype) -> None:
    quantizer = module.weight_quantizer
    group = quantizer.block_sizes[-1]
    largest = module.weight.float().unflatten(-1, (-1, group)).abs().amax(-1)
    scale = (largest.clamp(min=_SMALLEST_LARGEST) / LARGEST).to(dtype).float()
    quantizer.amax = (scale * LARGEST).reshape(quantizer.amax.shape).to(quantizer.amax.dtype)


def _packed(model: nn.Module) -> Iterator[Any]:
    for module in model.modules():
        quantizer: Any = getattr(module, "weight_quantizer", None)
        if quantizer is not None and quantizer.is_enabled and quantizer.amax is not None:
            yield module


@contextmanager
def _unquantized(modules: Sequence[Any]) -> Iterator[None]:
    for each in modules:
        each.weight_quantizer.disable()
    try:
        yield
    finally:
        for each in modules:
            each.weight_quantizer.enable()


def _is_smoothed(module: nn.Module) -> bool:
    return _factor(module) is not None


def _factor(module: Any) -> Tensor | None:
    quantizer = getattr(module, "input_quantizer", None)
    scale: Tensor | None = getattr(quantizer, "_pre_quant_scale", None)
    return scale


def _scale_rows(linear: Any, factor: Tensor) -> None:
    linear.weight.data = (linear.weight.float() * factor.float()[:, None]).to(linear.weight.dtype)
    if linear.bias is not None:
        linear.bias.data = (linear.bias.float() * factor.float()).to(linear.bias.dtype)


def _bias(module: Any) -> Tensor | None:
    bias = getattr(module, "bias", None)
    return None if bias is None else bias.data


def _probe(module: Any, width: int) -> Tensor:
    generator = torch.Generator().manual_seed(0)
    probe = torch.randn(1, _PROBES, width, generator=generator)
    return probe.to(module.weight.device, module.weight.dtype)


def _same(actual: Any, expected: Any) -> bool:
    """Return whether two answers differ by rounding alone."""
    if not isinstance(actual, Tensor) or actual.shape != expected.shape:
        return False
    distance = (actual.float() - expected.float()).norm()
    return float(distance) <= _ROUNDING * float(expected.float().norm())
