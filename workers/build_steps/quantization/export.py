"""The quantized model as a Hugging Face folder, checked against what was quantized."""

import json
import re
import shutil
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import nn

from workers.build_steps.quantization import failures
from workers.build_steps.quantization.checkpoint import Checkpoint
from workers.build_steps.quantization.loading import export_dtype
from workers.build_steps.quantization.modelopt import export_hf_checkpoint, logged_warnings

_QUANTIZED_DTYPES = frozenset({"F8_E4M3", "U8"})
_OS_ERROR = re.compile(r"os error (?P<number>\d+)")
_SHARD_SIZE = "5GB"
_WRITTEN_HERE = ("config.json", "hf_quant_config.json")


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


def export(model: nn.Module, checkpoint: Checkpoint, folder: Path) -> Exported:
    """Write the folder and return what it holds.

    Everything that describes the model is the original's own word, so that an engine with an
    older Transformers reads the settings that it knows; ModelOpt adds weights and scales.
    """
    try:
        with logged_warnings(), torch.inference_mode():
            export_hf_checkpoint(
                model,
                dtype=export_dtype(checkpoint),
                export_dir=folder,
                max_shard_size=_SHARD_SIZE,
            )
    except SafetensorError as error:
        # It hides the number that says whether the disk is full.
        found = _OS_ERROR.search(str(error))
        if found is None:
            raise failures.not_exported(str(error)) from error
        raise OSError(int(found["number"]), str(error)) from error
    except (AssertionError, NotImplementedError, RuntimeError, ValueError, KeyError) as error:
        raise failures.not_exported(f"ModelOpt gave up ({error})") from error
    _restore_descriptions(checkpoint, folder)
    return read_export(folder)


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


def _restore_descriptions(checkpoint: Checkpoint, folder: Path) -> None:
    exported = json.loads((folder / "config.json").read_bytes())
    if "quantization_config" not in exported:
        raise failures.not_exported("config.json has no `quantization_config`")
    config = json.loads((checkpoint.folder / "config.json").read_bytes())
    config["quantization_config"] = exported["quantization_config"]
    dtype = str(export_dtype(checkpoint)).removeprefix("torch.")
    for name in ("dtype", "torch_dtype"):
        if name in config or (name == "dtype" and "torch_dtype" not in config):
            config[name] = dtype
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    for source in sorted(checkpoint.folder.rglob("*")):
        path = source.relative_to(checkpoint.folder)
        target = folder / path
        # A `config.json` below is another's: that of a sentence encoder's pooling, say.
        is_kept = not _is_weights(source) and path.as_posix() not in _WRITTEN_HERE
        if source.is_file() and is_kept:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)


def _is_weights(path: Path) -> bool:
    # Nested safetensors are the dense layers of a sentence encoder: small, and never quantized.
    return path.name.endswith(".safetensors.index.json") or (
        path.suffix == ".safetensors" and not _is_folder_of_a_module(path)
    )


def _is_folder_of_a_module(path: Path) -> bool:
    return path.parent.name[:1].isdecimal() and "_" in path.parent.name
