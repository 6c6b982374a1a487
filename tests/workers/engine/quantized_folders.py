"""Tiny Llamas that ModelOpt has quantized, beside ModelOpt's own simulation of them."""

import json
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from transformers import AutoModelForCausalLM, LlamaForCausalLM

from controlplane.domain.spec.choices import QuantizationType
from tests.tiny_checkpoint import VOCABULARY, write_tokenizer
from tests.tiny_families import make_family
from workers.build_steps.quantization.checkpoint import open_checkpoint
from workers.build_steps.quantization.export import export
from workers.build_steps.quantization.modelopt import export_hf_checkpoint, presets, quantize
from workers.build_steps.quantization.recipes import RECIPES, modelopt_config
from workers.engine.deltas import AdapterDeltas
from workers.engine.kv_cache import SlotCache
from workers.engine.loader import choose_dtype, find_model_class, load_model
from workers.engine.runner import ModelRunner, Segment
from workers.engine.settings import EngineSettings

ROW = torch.randint(3, VOCABULARY, (48,), generator=torch.Generator().manual_seed(2)).tolist()
Tensors = dict[str, Tensor]

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # ModelOpt's, of which it has many
    from modelopt.torch.quantization.qtensor.nvfp4_tensor import NVFP4QTensor


@dataclass(frozen=True, kw_only=True)
class QuantizedFolder:
    """An exported folder, and what others answer to `ROW` after every token."""

    path: Path
    original: Path
    simulated_logits: Tensor
    original_logits: Tensor


Make = Callable[[QuantizationType], QuantizedFolder]


def make_original(folder: Path) -> Path:
    """Fill a folder with float32 numbers on no tie of a grid, where a last bit would decide."""
    make_family("llama", folder)
    model = LlamaForCausalLM.from_pretrained(folder, dtype=torch.float32)
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(1 + 0.01 * torch.rand(parameter.shape, generator=generator))
    model.save_pretrained(folder)
    return folder


def make_quantized(original: Path, kind: QuantizationType, folder: Path) -> QuantizedFolder:
    """Let ModelOpt calibrate, export and simulate one quantization type."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ModelOpt's, of which it has many
        export_hf_checkpoint(_calibrated(original, kind), dtype=torch.float32, export_dir=folder)
        simulated = _calibrated(original, kind)
    write_tokenizer(folder)
    _take_over_scales(simulated, folder)
    plain = LlamaForCausalLM.from_pretrained(original, dtype=torch.float32)
    return QuantizedFolder(
        path=folder,
        original=original,
        simulated_logits=_all_logits(simulated),
        original_logits=_all_logits(plain),
    )


def make_artifact(original: Path, kind: QuantizationType, folder: Path) -> None:
    """Fill a folder as a build does, files of the original included."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        checkpoint = open_checkpoint(original, served_as_encoder=False)
        export(_calibrated(original, kind), checkpoint, folder)


def engine_logits(
    folder: Path, row: list[int] = ROW, *, device_name: str = "cpu", dtype: str = "float32"
) -> Tensor:
    """Feed a row as the engine does, a piece of prompt and then token by token."""
    settings = EngineSettings(model_dir=folder, served_model_name="x", device=device_name)
    model = load_model(find_model_class(folder), settings, choose_dtype(dtype, device_name))
    device = torch.device(device_name)
    cache = SlotCache(model.shape, slots=64, device=device, scales=model.cache_scales)
    deltas = AdapterDeltas(model.module, [], device)
    runner = ModelRunner(model.module, cache, deltas, device)
    holding = cache.reserve(len(row))
    assert holding is not None
    pieces = [row[:8], *([token] for token in row[8:])]
    return torch.cat([runner.forward([Segment(holding, piece)])[0] for piece in pieces])


def change_tensors(folder: Path, change: Callable[[Tensors], object]) -> None:
    """Rewrite the weights of a folder."""
    tensors = load_file(folder / "model.safetensors")
    change(tensors)
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})


def change_json(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Rewrite a JSON file."""
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


def as_compressed_tensors(
    folder: Path, inputs: Mapping[str, Any] | None, *, cache: bool = False
) -> None:
    """Make a ModelOpt FP8 folder one that llm-compressor would have written, per channel."""
    (folder / "hf_quant_config.json").unlink()
    weights = {"num_bits": 8, "type": "float", "strategy": "channel", "dynamic": False}
    group = {"targets": ["Linear"], "weights": weights, "input_activations": inputs}
    block = {
        "quant_method": "compressed-tensors",
        "format": "float-quantized",
        "config_groups": {"group_0": group},
        "kv_cache_scheme": weights | {"strategy": "tensor"} if cache else None,
        "ignore": ["lm_head"],
    }
    change_json(folder / "config.json", lambda config: config.update(quantization_config=block))
    change_tensors(folder, lambda tensors: _rename(tensors, keeps_inputs=_is_static(inputs)))


def _is_static(inputs: Mapping[str, Any] | None) -> bool:
    return inputs is not None and not inputs["dynamic"]


def _rename(tensors: Tensors, *, keeps_inputs: bool) -> None:
    for name in list(tensors):
        module, _, kind = name.rpartition(".")
        if kind == "weight_scale":
            rows = tensors[f"{module}.weight"].shape[0]
            tensors[name] = tensors[name].expand(rows, 1).contiguous()
        elif kind in ("k_scale", "v_scale"):
            tensors[f"{module.rpartition('.')[0]}.{kind}"] = tensors.pop(name).reshape(1)
        elif kind == "input_scale" and not keeps_inputs:
            del tensors[name]


def _calibrated(original: Path, kind: QuantizationType) -> nn.Module:
    model = AutoModelForCausalLM.from_pretrained(original, dtype=torch.float32)
    config = modelopt_config(RECIPES[kind], presets, has_kv_cache=True, is_encoder=False)
    outcome: nn.Module = quantize(model, config.config, lambda each: each(torch.tensor([ROW])))
    return outcome


def _take_over_scales(model: nn.Module, exported: Path) -> None:
    """Let layers that an engine fuses share their scales, as the export has it."""
    tensors = load_file(exported / "model.safetensors")
    for name, module in model.named_modules():
        if f"{name}.weight_scale_2" in tensors:
            _simulate_nvfp4(
                module, tensors[f"{name}.weight_scale_2"], tensors[f"{name}.input_scale"]
            )
        elif f"{name}.weight_scale" in tensors:
            layer: Any = module
            layer.weight_quantizer.amax = tensors[f"{name}.weight_scale"] * 448
            layer.input_quantizer.amax = tensors[f"{name}.input_scale"] * 448


def _simulate_nvfp4(layer: Any, weight_scale: Tensor, input_scale: Tensor) -> None:
    """Let a layer pack and unpack with ModelOpt: its own simulation of NVFP4 needs a GPU."""
    layer.weight_quantizer.disable()
    layer.input_quantizer.disable()
    with torch.no_grad():
        layer.weight.copy_(_packed_and_back(layer.weight, weight_scale))
    layer.register_forward_pre_hook(
        lambda _, inputs: (_packed_and_back(inputs[0], input_scale), *inputs[1:])
    )


def _packed_and_back(values: Tensor, global_scale: Tensor) -> Tensor:
    packed, scale, _ = NVFP4QTensor.quantize(
        values.detach().flatten(0, -2).clone(), 16, weights_scaling_factor_2=global_scale
    )
    plain: Tensor = packed.dequantize(
        torch.float32, scale=scale, double_scale=global_scale, block_sizes={-1: 16}
    )
    return plain.view(values.shape)


@torch.inference_mode()
def _all_logits(model: nn.Module) -> Tensor:
    logits: Tensor = model.eval()(torch.tensor([ROW]), use_cache=False).logits[0, 7:]
    return logits.clone()
