"""Whether every quantized number has a scale, and every scale was really found."""

import math
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import safe_open

from controlplane.domain.failures.registry import gate
from workers.build_steps.failures import StepFailure
from workers.build_steps.gating import failures
from workers.build_steps.gating.calibrated import Expected
from workers.build_steps.quantization.exported import headers
from workers.engine.rounding import NVFP4_BLOCK

_FP8, _FP4 = "F8_E4M3", "U8"
_SCALES_OF = {
    _FP8: ("weight_scale", "input_scale"),
    _FP4: ("weight_scale", "weight_scale_2", "input_scale"),
}
_OF_WEIGHTS = ("weight_scale_2", "weight_scale", "input_scale")
_CACHE_SCALES = ("k_scale", "v_scale")
_LAYER = re.compile(r"(?P<before>.*?\.)(?P<number>\d+)(?P<after>\..*)")


Header = tuple[str, tuple[int, ...]]
"""Type and shape of a tensor."""


@dataclass(frozen=True, kw_only=True)
class ScaleReport:
    """The scales that are one number; all of them are sound."""

    counts: dict[str, int]
    """Kind -> how many."""
    values: dict[str, float]
    """Name -> value."""


def check_scales(
    folder: Path, quant_config: Mapping[str, Any], expected: Expected | None = None
) -> ScaleReport:
    """Return the scales; raises StepFailure that names the first that is not as it should.

    `expected` is what calibration asks for, to be told beside a scale that is missing or broken.
    """
    expected = expected or {}
    stored = {name: (dtype, shape) for name, dtype, shape in headers(folder)}
    for name, (dtype, _) in stored.items():
        module, _, kind = name.rpartition(".")
        # Experts that are one tensor carry no `weight` in their name.
        owner = f"{module}." if kind == "weight" else f"{name}_"
        for scale in _SCALES_OF.get(dtype, ()) if "scale" not in kind else ():
            if f"{owner}{scale}" not in stored:
                raise failures.missing_scale(f"{owner}{scale}", expected.get(f"{owner}{scale}"))
    for name, (_, shape) in stored.items():
        _check_owner(name, shape, stored)
    if quant_config.get("kv_cache_quant_algo"):
        _check_cache(set(stored), expected)
    values = _read_scalars(folder)
    _check_values(values, expected)
    return ScaleReport(
        counts={kind: len(each) for kind, each in sorted(values.items())},
        values={name: value for each in values.values() for name, value in each.items()},
    )


def _check_owner(name: str, shape: tuple[int, ...], stored: Mapping[str, Header]) -> None:
    """Raise for a scale without the quantized numbers that it is for, or of another shape."""
    kind = next((each for each in _OF_WEIGHTS if name.endswith(each)), None)
    if kind is None:
        return
    owner = name.removesuffix(kind)
    # Experts that are one tensor carry no `weight` in their name.
    weight = f"{owner}weight" if owner.endswith(".") else owner.removesuffix("_")
    dtype, sizes = stored.get(weight, ("", ()))
    if kind not in _SCALES_OF.get(dtype, ()):
        raise StepFailure.of(gate.SCALE_UNUSED, name=owner.rstrip("._"))
    is_by_block = dtype == _FP4 and kind == "weight_scale"
    if is_by_block and shape != (expected := _blocks(sizes)):
        raise failures.misshapen_scale(name, shape, expected)
    if not is_by_block and math.prod(shape) != 1:
        raise failures.misshapen_scale(name, shape, ())


def _blocks(sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Return how many blocks there are; in experts that are one tensor they run downwards."""
    blocks = [each * 2 // NVFP4_BLOCK for each in sizes[1:2]]
    return (*sizes[:1], *blocks, *sizes[2:])


def _check_cache(names: set[str], expected: Expected) -> None:
    """Raise for the first layer whose attention lacks the scale of its keys or values."""
    for kind in _CACHE_SCALES:
        present = {name for name in names if name.endswith(f".{kind}")}
        if not present:
            raise failures.dropped_kv_scale(f"*.{kind}")
        pattern = _LAYER.fullmatch(min(present))
        assert pattern is not None, "every attention lies in a numbered layer"
        attention = pattern["after"].split(".")[1]
        for number in _layers_with(names, pattern["before"], attention):
            name = f"{pattern['before']}{number}{pattern['after']}"
            if name not in present:
                raise failures.dropped_kv_scale(name, expected.get(name))


def _layers_with(names: set[str], before: str, attention: str) -> list[int]:
    """Return the numbers of the layers that have this attention; others keep no cache."""
    pattern = re.compile(rf"{re.escape(before)}(\d+)\.{re.escape(attention)}\.")
    return sorted({int(matched[1]) for name in names if (matched := pattern.match(name))})


def _read_scalars(folder: Path) -> dict[str, dict[str, float]]:
    """Return kind of scale -> tensor name -> value, for the scales that are one number."""
    values: dict[str, dict[str, float]] = defaultdict(dict)
    for path in sorted(folder.glob("*.safetensors")):
        with safe_open(path, "pt") as file:
            for name in file.keys():  # noqa: SIM118  # not a mapping
                kind = name.rpartition(".")[2]
                if "scale" in kind and math.prod(file.get_slice(name).get_shape()) == 1:
                    values[kind][name] = float(file.get_tensor(name).float())
    return values


def _check_values(values: Mapping[str, Mapping[str, float]], expected: Expected) -> None:
    for kind, by_name in values.items():
        for name, value in by_name.items():
            if not (math.isfinite(value) and value > 0):
                raise failures.broken_scale(name, value, expected.get(name))
        if all(value == 1.0 for value in by_name.values()):
            raise StepFailure.of(gate.SCALES_ONE, kind=kind, count=len(by_name))
