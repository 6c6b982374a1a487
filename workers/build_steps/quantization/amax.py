"""The largest values that calibration saw, kept beside the export by the scale that tells them."""

import json
import math
import re
from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from torch import nn

from workers.build_steps.quantization.exported import headers

AMAX_FILE = "amax.json"
CACHE_SCALES = ("k_scale", "v_scale")
_INPUT_SCALE = "input_scale"
_QUANTIZERS = ("input_quantizer", "k_bmm_quantizer", "v_bmm_quantizer")
_OUTPUTS_OF_EXPERTS = ("down_proj", "w2")
_EXPERT = re.compile(r"(?<=experts\.)\d+(?=\.)")

Seen = Mapping[str, float | None]
"""Quantizer -> the largest value that it saw, or None where no sample reached it."""


def largest_seen(model: nn.Module) -> Seen:
    """Return what the quantizers of inputs, keys and values saw; the export changes it."""
    modules = dict(model.named_modules())
    seen = {
        name: _largest(each)
        for name, each in modules.items()
        if name.endswith(_QUANTIZERS) and each.is_enabled
    }
    return _over_experts(_over_shared_weights(seen, modules))


def by_scale(seen: Seen, folder: Path, named: Callable[[str], str]) -> Seen:
    """Return the same by the names of the exported scales; `named` gives the class's names."""
    names = [name for name, _, _ in headers(folder)]
    return {name: seen.get(_quantizer(name, seen, named)) for name in names if tells_amax(name)}


def tells_amax(name: str) -> bool:
    """Return whether a tensor is the scale of an input, of keys or of values."""
    return name.rpartition(".")[2].endswith((_INPUT_SCALE, *CACHE_SCALES))


def write_amax(folder: Path, seen: Seen) -> None:
    (folder / AMAX_FILE).write_text(json.dumps(dict(sorted(seen.items())), indent=1) + "\n")


def read_amax(folder: Path) -> Seen | None:
    """Return the values; None for the output of a release that kept none."""
    path = folder / AMAX_FILE
    return json.loads(path.read_bytes()) if path.exists() else None


def _largest(quantizer: Any) -> float | None:
    """Return its value; for zero or what is no number ModelOpt makes up a scale, as for none."""
    if quantizer.amax is None or quantizer.amax.is_meta:
        return None
    value = float(quantizer.amax.max())
    return value if 0 < value < math.inf else None


def _over_shared_weights(seen: Seen, modules: Mapping[str, nn.Module]) -> Seen:
    """Return the largest values of all who share a weight: a single scale is exported for them."""

    def weight_of(name: str) -> object:
        weight = getattr(modules[name.rpartition(".")[0]], "weight", None)
        return name if weight is None else id(weight)

    return _largest_of_group(seen, weight_of)


def _over_experts(seen: Seen) -> Seen:
    """Return the values with those of other experts where no sample reached one."""
    most = _largest_of_group(seen, lambda name: _EXPERT.sub("*", name))
    return {name: value or most[name] for name, value in seen.items()}


def _largest_of_group(seen: Seen, group_of: Callable[[str], object]) -> Seen:
    groups: dict[object, list[float]] = defaultdict(list)
    for name, value in seen.items():
        groups[group_of(name)] += [] if value is None else [value]
    return {name: max(groups[group_of(name)], default=None) for name in seen}


def _quantizer(scale: str, seen: Seen, named: Callable[[str], str]) -> str:
    module, _, kind = scale.rpartition(".")
    module = named(module)
    if kind in CACHE_SCALES:
        return f"{module.rpartition('.')[0]}.{kind[0]}_bmm_quantizer"
    if kind != _INPUT_SCALE:  # experts that are one tensor
        return f"{module}.{kind.removesuffix(_INPUT_SCALE)}input_quantizer"
    own = f"{module}.input_quantizer"
    return own if own in seen else _quantizer_of_experts(module, seen)


def _quantizer_of_experts(expert: str, seen: Seen) -> str:
    experts, _, projection = expert.rpartition(".")
    experts = experts.rpartition(".")[0]
    is_output = projection in _OUTPUTS_OF_EXPERTS
    shared = [each for each in seen if each.startswith(f"{experts}.") and "_input_" in each]
    return next((each for each in shared if ("down_proj" in each) == is_output), "")
