"""The FP8 form of an encoder's folder: weights and inputs with one scale each, by the largest."""

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

_LARGEST = 448.0
_TOKENS_AT_ONCE = 512

Choose = Callable[[Any, Mapping[str, Any], Mapping[str, Any]], Sequence[str]]


def write_fp8(
    folder: Path,
    target: Path,
    texts: Sequence[str],
    *,
    device: str,
    choose: Choose | None = None,
) -> Path:
    """Fill `target` with what ModelOpt's recipe for FP8 would export, calibrated on the texts.

    `choose` names layers that stay in 16 bits, of the model, its layers and their largest inputs.
    """
    from safetensors.torch import save_file

    shutil.copytree(folder, target, ignore=shutil.ignore_patterns("*.safetensors"))
    tensors, left = _quantized(folder, texts, device, choose)
    save_file(tensors, target / "model.safetensors", metadata={"format": "pt"})
    declared = {
        "producer": {"name": "modelopt", "version": "0.47.0"},
        "quantization": {
            "quant_algo": "FP8", "kv_cache_quant_algo": None, "exclude_modules": list(left),
        },
    }  # fmt: skip
    (target / "hf_quant_config.json").write_text(json.dumps(declared))
    return target


def _quantized(
    folder: Path, texts: Sequence[str], device: str, choose: Choose | None
) -> tuple[dict[str, Any], Sequence[str]]:
    """All tensors, and the names of the layers that keep 16 bits: those of heads."""
    import torch
    import transformers

    kind = json.loads((folder / "config.json").read_text())["architectures"][0]
    model = getattr(transformers, kind).from_pretrained(folder, dtype=torch.bfloat16).to(device)
    layers = {n: m for n, m in model.named_modules() if type(m) is torch.nn.Linear}
    inside = {name for name in layers if ".layer." in name or ".layers." in name}
    inside |= {name for name in layers if name.startswith(("layer.", "layers."))}
    largest = _largest_inputs(model, {name: layers[name] for name in inside}, folder, texts)
    if choose is not None:
        inside -= set(choose(model, {name: layers[name] for name in inside}, largest))
    tensors = dict(model.state_dict())
    for name in inside:
        weight = tensors[f"{name}.weight"].float()
        scale = weight.abs().max() / _LARGEST
        tensors[f"{name}.weight"] = (weight / scale).to(torch.float8_e4m3fn)
        tensors[f"{name}.weight_scale"] = scale
        tensors[f"{name}.input_scale"] = largest[name] / _LARGEST
    return (
        {name: each.cpu().contiguous() for name, each in tensors.items()},
        sorted(layers.keys() - inside),
    )


def _largest_inputs(
    model: Any, layers: Mapping[str, Any], folder: Path, texts: Sequence[str]
) -> Mapping[str, Any]:
    import torch
    import transformers

    values: dict[str, Any] = {}

    def watch(name: str) -> Any:
        def seen(_layer: Any, inputs: Any) -> None:
            here = inputs[0].abs().max().float()
            values[name] = torch.maximum(values[name], here) if name in values else here

        return seen

    watching = [layer.register_forward_pre_hook(watch(name)) for name, layer in layers.items()]
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    with torch.inference_mode():
        for text in texts:
            request = tokenizer(
                text, return_tensors="pt", truncation=True, max_length=_TOKENS_AT_ONCE
            )
            model(**request.to(model.device))
    for each in watching:
        each.remove()
    return values
