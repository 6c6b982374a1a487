"""A checkpoint of random weights in 16 bits, FP8, and FP8 with FP8 KV, as ModelOpt exports them.

    python -m benchmarks.gpu.random_precisions CHECKPOINT FOLDER

CHECKPOINT is what `random_checkpoint` wrote. FOLDER gets `no_quant`, `fp8` and `fp8_kv`, for
`quantization_speed.sh`; shards that are alike are hard links. The scales of inputs are made up.
"""

import json
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

_LARGEST = 448.0
_INPUT_SCALE = 0.05
_KV_SCALE = 0.02
_INDEX = "model.safetensors.index.json"
_LEFT = ("lm_head", "model.embed_tokens")


def main() -> None:
    """Write all three."""
    source, folder = Path(sys.argv[1]), Path(sys.argv[2])
    for shard in _linked(source, folder / "no_quant"):
        os.link(shard, folder / "no_quant" / shard.name)
    _write_fp8(source, folder / "fp8")
    _write_fp8_kv(folder / "fp8", folder / "fp8_kv")


def _linked(source: Path, target: Path) -> list[Path]:
    """Copy all but the weights; return their files."""
    target.mkdir(parents=True)
    for path in source.iterdir():
        if path.suffix != ".safetensors":
            shutil.copyfile(path, target / path.name)
    return sorted(source.glob("*.safetensors"))


def _write_fp8(source: Path, target: Path) -> None:
    from safetensors.torch import load_file, save_file

    places: dict[str, str] = {}
    for shard in _linked(source, target):
        tensors = dict(quantized(load_file(shard)))
        save_file(tensors, target / shard.name, {"format": "pt"})
        places |= dict.fromkeys(tensors, shard.name)
    declare(target, places, kv=None)


def _write_fp8_kv(source: Path, target: Path) -> None:
    import torch
    from safetensors.torch import save_file

    for shard in _linked(source, target):
        os.link(shard, target / shard.name)
    places = json.loads((source / _INDEX).read_text())["weight_map"]
    keys = [name.removesuffix(".weight") for name in places if name.endswith("k_proj.weight")]
    names = [*(f"{key}.k_scale" for key in keys),
             *(f"{key.replace('k_proj', 'v_proj')}.v_scale" for key in keys)]  # fmt: skip
    scales = {name: torch.tensor(_KV_SCALE) for name in names}
    save_file(scales, target / "model-scales.safetensors", {"format": "pt"})
    declare(target, places | dict.fromkeys(names, "model-scales.safetensors"), kv="FP8")


def quantized(tensors: "dict[str, torch.Tensor]") -> "Iterator[tuple[str, torch.Tensor]]":
    """Yield the tensors as a file in FP8 holds them, scales among them."""
    import torch

    for name, tensor in tensors.items():
        if tensor.dim() != 2 or name.startswith(_LEFT):
            yield name, tensor
            continue
        scale = tensor.abs().max().float() / _LARGEST
        yield name, (tensor / scale.bfloat16()).to(torch.float8_e4m3fn)
        yield f"{name}_scale", scale
        yield f"{name.removesuffix('.weight')}.input_scale", torch.tensor(_INPUT_SCALE)


def declare(folder: Path, places: dict[str, str], *, kv: str | None) -> None:
    """Write the index, and what says that the weights are in FP8."""
    (folder / _INDEX).write_text(json.dumps({"metadata": {}, "weight_map": places}))
    quantization = {
        "quant_algo": "FP8", "kv_cache_quant_algo": kv, "exclude_modules": list(_LEFT),
    }  # fmt: skip
    declared = {
        "producer": {"name": "modelopt", "version": "0.47.0"}, "quantization": quantization,
    }  # fmt: skip
    (folder / "hf_quant_config.json").write_text(json.dumps(declared))


if __name__ == "__main__":
    main()
