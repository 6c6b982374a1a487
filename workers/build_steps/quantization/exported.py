"""What lies in an exported folder, by its headers; ModelOpt is not needed for it."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import safe_open

from controlplane.domain.facts.quantization import FP8_BLOCKS
from controlplane.domain.failures.registry import quantization
from controlplane.domain.json_text import read_json
from workers.build_steps.failures import StepFailure
from workers.build_steps.quantization.packed_declaration import algorithm_of
from workers.engine.scheme import BLOCKS, COMPRESSED

CONFIG = "config.json"
EXPORT = "hf_quant_config.json"
_QUANTIZED_DTYPES = frozenset({"F8_E4M3", "U8"})
PACKED_WEIGHT = "weight_packed"
BLOCK_SCALE = "weight_scale_inv"


@dataclass(frozen=True, kw_only=True)
class Exported:
    quantized: dict[str, int]
    """Kind of layer, such as `self_attn.q_proj` -> how many were quantized."""
    left: dict[str, int]
    """Kind of matrix that keeps 16 bits -> how many."""
    stacked: tuple[str, ...]
    """Experts of a layer that were quantized as one tensor."""
    kv_layers: int
    """Layers whose cache has a scale for keys and one for values."""
    quant_config: dict[str, Any]
    """What hf_quant_config.json says under `quantization`, or the same of packed integers."""
    is_packed: bool = False
    """Whether it is compressed-tensors' packed integers, which only config.json declares."""
    is_in_blocks: bool = False
    """Whether it is FP8 with a scale per block in DeepSeek's form, which only config.json does."""

    @property
    def quantized_count(self) -> int:
        return sum(self.quantized.values())


def read_export(folder: Path) -> Exported:
    """Return what an exported folder holds, from its headers; raises StepFailure when broken."""
    block = _own_declaration(folder)
    method = block.get("quant_method")
    describe = {COMPRESSED: _declared_packed, BLOCKS: _declared_blocks}.get(str(method))
    stored = describe(block) if describe else _declared_by_modelopt(folder)
    quantized, left = Counter[str](), Counter[str]()
    stacked: list[str] = []
    keys, values = set[str](), set[str]()
    for name, dtype, shape in headers(folder):
        module, _, kind = name.rpartition(".")
        if kind == PACKED_WEIGHT or (kind == "weight" and dtype in _QUANTIZED_DTYPES):
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
        is_packed=method == COMPRESSED,
        is_in_blocks=method == BLOCKS,
    )


def _declared_by_modelopt(folder: Path) -> dict[str, Any]:
    try:
        stored: dict[str, Any] = read_object(folder / EXPORT)["quantization"]
    except (OSError, ValueError, KeyError) as error:
        raise StepFailure.of(
            quantization.EXPORT, reason=f"{EXPORT} is missing or unreadable"
        ) from error
    return stored


def _own_declaration(folder: Path) -> dict[str, Any]:
    """Return `quantization_config` of what only that declares; empty for ModelOpt's own form."""
    try:
        block = read_object(folder / CONFIG).get("quantization_config")
    except (OSError, ValueError):
        return {}
    if not isinstance(block, dict) or block.get("quant_method") not in (COMPRESSED, BLOCKS):
        return {}
    return block


def _declared_blocks(block: dict[str, Any]) -> dict[str, Any]:
    return {
        "quant_algo": FP8_BLOCKS.modelopt_name,
        "kv_cache_quant_algo": None,
        "exclude_modules": block.get("modules_to_not_convert"),
    }


def _declared_packed(block: dict[str, Any]) -> dict[str, Any]:
    group = (block.get("config_groups") or {}).get("group_0") or {}
    return {
        "quant_algo": algorithm_of(block),
        "kv_cache_quant_algo": None,
        "group_size": (group.get("weights") or {}).get("group_size"),
        "exclude_modules": block.get("ignore"),
    }


def headers(folder: Path) -> Iterable[tuple[str, str, tuple[int, ...]]]:
    """Return name, type and shape of every tensor, without reading one."""
    for path in sorted(folder.glob("*.safetensors")):
        with safe_open(path, "pt") as file:
            for name in file.keys():  # noqa: SIM118  # not a mapping
                part = file.get_slice(name)
                yield name, part.get_dtype(), tuple(part.get_shape())


def packed_modules(folder: Path) -> list[str]:
    return modules_with(folder, PACKED_WEIGHT)


def modules_with(folder: Path, tensor: str) -> list[str]:
    end = f".{tensor}"
    return [name.removesuffix(end) for name, _, _ in headers(folder) if name.endswith(end)]


def read_object(path: Path) -> dict[str, Any]:
    """Return a file's JSON object; raises ValueError for anything else."""
    content = read_json(path.read_bytes())
    if not isinstance(content, dict):
        raise ValueError(f"{path.name} is not a JSON object")
    return content


def kind_of(module: str) -> str:
    """Return a module's name without what precedes and includes its layer's and expert's number."""
    parts = module.split(".")
    numbers = [place for place, part in enumerate(parts) if part.isdecimal()]
    if not numbers:
        return module
    kept = parts[numbers[0] + 1 :]
    return ".".join("*" if part.isdecimal() else part for part in kept)
