"""What lies in an exported folder, by its headers; ModelOpt is not needed for it."""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import safe_open

from workers.build_steps.quantization import failures

_QUANTIZED_DTYPES = frozenset({"F8_E4M3", "U8"})


@dataclass(frozen=True, kw_only=True)
class Exported:
    """What lies in the folder now."""

    quantized: dict[str, int]
    """Kind of layer, such as `self_attn.q_proj` -> how many were quantized."""
    left: dict[str, int]
    """Kind of matrix that keeps 16 bits -> how many."""
    stacked: tuple[str, ...]
    """Experts of a layer that were quantized as one tensor."""
    kv_layers: int
    """Layers whose cache has a scale for keys and one for values."""
    quant_config: dict[str, Any]
    """What hf_quant_config.json says under `quantization`."""

    @property
    def quantized_count(self) -> int:
        return sum(self.quantized.values())


def read_export(folder: Path) -> Exported:
    """Return what an exported folder holds, from its headers; raises StepFailure when broken."""
    try:
        stored = json.loads((folder / "hf_quant_config.json").read_bytes())["quantization"]
    except (OSError, ValueError, KeyError) as error:
        raise failures.not_exported("hf_quant_config.json is missing or unreadable") from error
    quantized, left = Counter[str](), Counter[str]()
    stacked: list[str] = []
    keys, values = set[str](), set[str]()
    for name, dtype, shape in headers(folder):
        module, _, kind = name.rpartition(".")
        if kind == "weight" and dtype in _QUANTIZED_DTYPES:
            quantized[kind_of(module)] += 1
        elif dtype in _QUANTIZED_DTYPES and "scale" not in kind:
            stacked.append(name)
            quantized[kind_of(name)] += 1
        elif kind == "weight" and len(shape) > 1:
            left[kind_of(module)] += 1
        elif kind in ("k_scale", "v_scale"):
            (keys if kind == "k_scale" else values).add(module.rpartition(".")[0])
    return Exported(
        quantized=dict(sorted(quantized.items())),
        left=dict(sorted(left.items())),
        stacked=tuple(stacked),
        kv_layers=len(keys & values),
        quant_config=stored,
    )


def headers(folder: Path) -> Iterable[tuple[str, str, tuple[int, ...]]]:
    """Return name, type and shape of every tensor, without reading one."""
    for path in sorted(folder.glob("*.safetensors")):
        with safe_open(path, "pt") as file:
            for name in file.keys():  # noqa: SIM118  # not a mapping
                part = file.get_slice(name)
                yield name, part.get_dtype(), tuple(part.get_shape())


def kind_of(module: str) -> str:
    """Return a module's name without what precedes and includes its layer's and expert's number."""
    parts = module.split(".")
    numbers = [place for place, part in enumerate(parts) if part.isdecimal()]
    if not numbers:
        return module
    kept = parts[numbers[0] + 1 :]
    return ".".join("*" if part.isdecimal() else part for part in kept)
