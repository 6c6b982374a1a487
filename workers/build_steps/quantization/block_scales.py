"""ModelOpt's export of FP8 in blocks, in the form that DeepSeek's own checkpoints have.

ModelOpt calls it `FP8_PB_WO`, for weights alone, with scales of four dimensions, or of none where
a weight is one block. vLLM, TensorRT-LLM and Transformers load DeepSeek's form, and round the
inputs to FP8 as well.
Source: vLLM 0.25 to 0.33, `fp8.py`, `Fp8Config`; TensorRT-LLM 1.2, `load_hf_quant_config`; checked
2026-11-30.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from controlplane.domain.facts.quantization import FP8_BLOCKS, Number
from controlplane.domain.failures.registry import quantization
from workers.build_steps.failures import StepFailure
from workers.build_steps.quantization import failures
from workers.build_steps.quantization.descriptions import CONFIG
from workers.build_steps.quantization.exported import BLOCK_SCALE, EXPORT
from workers.build_steps.quantization.indexing import rewrite_index
from workers.build_steps.quantization.recipes import ModelOptConfig
from workers.engine.scheme import BLOCKS


def block_declaration(left: Iterable[str]) -> dict[str, Any]:
    """Return `quantization_config` of config.json, with the layers that stay in 16 bits."""
    return {
        "quant_method": BLOCKS,
        "fmt": "e4m3",
        "activation_scheme": "dynamic",
        "weight_block_size": [FP8_BLOCKS.block, FP8_BLOCKS.block],
        "modules_to_not_convert": list(left),
    }


def refuse_odd_inputs(model: nn.Module, config: ModelOptConfig, number: Number) -> None:
    """Raise StepFailure for inputs that no engine divides into blocks; the last rows may be few."""
    odd = [
        name
        for name, module in model.named_modules()
        if isinstance(module, nn.Linear)
        and config.weight_pattern_matches(name)
        and module.weight.shape[-1] % number.block
    ]
    if odd:
        raise failures.odd_width(odd, number.block, "FP8")


def write_block_scales(folder: Path) -> None:
    """Rewrite a folder of ModelOpt's in place; raises StepFailure for experts in one tensor."""
    stored = json.loads((folder / EXPORT).read_bytes())["quantization"]
    left: list[str] = []
    for path in sorted(folder.glob("*.safetensors")):
        tensors = dict(_renamed(path))
        left += [
            name.removesuffix(".weight")
            for name, each in tensors.items()
            if name.endswith(".weight") and each.dim() > 1 and each.dtype != torch.float8_e4m3fn
        ]
        save_file(tensors, path, metadata={"format": "pt"})
    tied = [each for each in stored["exclude_modules"] if "*" not in each]
    rewrite_index(folder)
    config = json.loads((folder / CONFIG).read_bytes())
    config["quantization_config"] = block_declaration(sorted({*left, *tied}))
    (folder / CONFIG).write_text(json.dumps(config, indent=2) + "\n")
    (folder / EXPORT).unlink()


def _renamed(path: Path) -> Iterable[tuple[str, Tensor]]:
    with safe_open(path, "pt") as file:
        shapes = {name: file.get_slice(name).get_shape() for name in file.keys()}  # noqa: SIM118
        for name in sorted(shapes):
            tensor = file.get_tensor(name)
            module, _, kind = name.rpartition(".")
            if tensor.dtype == torch.float8_e4m3fn and kind != "weight":
                raise StepFailure.of(quantization.STACKED_BLOCKS, name=name)
            if kind == "weight_scale":
                blocks = _blocks(name, shapes)
                yield f"{module}.{BLOCK_SCALE}", tensor.float().reshape(blocks).contiguous()
            else:
                yield name, tensor


def _blocks(scale: str, shapes: Mapping[str, list[int]]) -> tuple[int, ...]:
    size = FP8_BLOCKS.block
    return tuple(-(-each // size) for each in shapes[scale.removesuffix("_scale")])
