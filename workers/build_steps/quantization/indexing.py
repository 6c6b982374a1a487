"""The index of weights, after their tensors have other names."""

import json
from pathlib import Path

from safetensors import safe_open

from workers.build_steps.quantization.descriptions import INDEX


def rewrite_index(folder: Path) -> None:
    path = folder / INDEX
    if not path.exists():
        return
    index = json.loads(path.read_bytes())
    index["weight_map"] = {
        name: file.name for file in sorted(folder.glob("*.safetensors")) for name in _names(file)
    }
    path.write_text(json.dumps(index, indent=2, sort_keys=True) + "\n")


def _names(path: Path) -> list[str]:
    with safe_open(path, "pt") as file:
        return sorted(file.keys())
