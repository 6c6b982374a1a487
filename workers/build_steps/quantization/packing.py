"""ModelOpt's export of four-bit integers, as the packed form that vLLM loads.

ModelOpt keeps two rows in a byte, which vLLM's loader of its exports does not read; compressed-
tensors keeps eight numbers of a row in a word, with the same numbers and scales.
Source: vLLM 0.33, `compressed_tensors/schemes/compressed_tensors_wNa16.py` and
`compressed_tensors_w4a8_fp8.py`; checked 2026-11-30.
"""

import json
from collections.abc import Iterable
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor

from controlplane.domain.failures.registry import quantization
from workers.build_steps.failures import StepFailure
from workers.build_steps.quantization.descriptions import CONFIG
from workers.build_steps.quantization.exported import EXPORT
from workers.build_steps.quantization.indexing import rewrite_index
from workers.build_steps.quantization.packed_declaration import declaration
from workers.engine.packed_integers import ZERO, pack


def write_packed(folder: Path, algorithm: str, scale_dtype: torch.dtype) -> None:
    """Rewrite a folder of ModelOpt's in place; raises StepFailure for experts in one tensor."""
    stored = json.loads((folder / EXPORT).read_bytes())["quantization"]
    left: list[str] = []
    for path in sorted(folder.glob("*.safetensors")):
        tensors = dict(_packed_tensors(path, scale_dtype))
        left += [
            name.removesuffix(".weight") for name, each in tensors.items() if _is_matrix(name, each)
        ]
        save_file(tensors, path, metadata={"format": "pt"})
    tied = [each for each in stored["exclude_modules"] if "*" not in each]
    rewrite_index(folder)
    config = json.loads((folder / CONFIG).read_bytes())
    config["quantization_config"] = declaration(
        algorithm, stored["group_size"], sorted({*left, *tied})
    )
    (folder / CONFIG).write_text(json.dumps(config, indent=2) + "\n")
    (folder / EXPORT).unlink()


def _packed_tensors(path: Path, scale_dtype: torch.dtype) -> Iterable[tuple[str, Tensor]]:
    with safe_open(path, "pt") as file:
        names = set(file.keys())
        for name in sorted(names):
            tensor = file.get_tensor(name)
            module, _, kind = name.rpartition(".")
            if tensor.dtype is torch.uint8 and (kind != "weight" or tensor.dim() > 2):
                raise StepFailure.of(quantization.STACKED_INTEGERS, name=name)
            if tensor.dtype is torch.uint8:
                numbers = _unpacked_rows(tensor)
                yield f"{module}.weight_packed", pack(numbers)
                yield f"{module}.weight_shape", torch.tensor(numbers.shape, dtype=torch.int64)
            elif kind == "weight_scale" and f"{module}.weight" in names:
                yield name, tensor.to(scale_dtype).contiguous()
            else:
                yield name, tensor


def _unpacked_rows(packed: Tensor) -> Tensor:
    """Return the numbers of a weight of which ModelOpt keeps two rows in a byte, as int8."""
    codes = torch.stack((packed & 0x0F, packed >> 4), dim=1).flatten(0, 1).to(torch.int8)
    return torch.where(codes >= ZERO, codes - 2 * ZERO, codes)


def _is_matrix(name: str, tensor: Tensor) -> bool:
    return name.endswith(".weight") and tensor.dim() > 1
