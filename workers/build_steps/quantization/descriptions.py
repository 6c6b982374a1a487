"""What describes an exported model: the original's own words, but for what quantization changes."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from workers.build_steps.quantization.checkpoint import Checkpoint
from workers.build_steps.quantization.loading import export_dtype

CONFIG = "config.json"
INDEX = "model.safetensors.index.json"
_WRITTEN_HERE = (CONFIG, "hf_quant_config.json")


def config_of_export(checkpoint: Checkpoint, quantization: Any) -> dict[str, Any]:
    """Return the original's config.json with this `quantization_config` and the export's type."""
    config: dict[str, Any] = json.loads((checkpoint.folder / CONFIG).read_bytes())
    config["quantization_config"] = quantization
    dtype = str(export_dtype(checkpoint)).removeprefix("torch.")
    for name in ("dtype", "torch_dtype"):
        if name in config or (name == "dtype" and "torch_dtype" not in config):
            config[name] = dtype
    return config


def kept_files(folder: Path) -> Iterator[Path]:
    """Yield, below the folder, the files that an export has as the original has them."""
    for source in sorted(folder.rglob("*")):
        path = source.relative_to(folder)
        # A `config.json` below is another's: that of a sentence encoder's pooling, say.
        if source.is_file() and path.as_posix() not in _WRITTEN_HERE and not _is_weights(path):
            yield path


def _is_weights(path: Path) -> bool:
    # Nested safetensors are the dense layers of a sentence encoder: small, and never quantized.
    return path.name.endswith(".safetensors.index.json") or (
        path.suffix == ".safetensors" and not _is_folder_of_a_module(path)
    )


def _is_folder_of_a_module(path: Path) -> bool:
    return path.parent.name[:1].isdecimal() and "_" in path.parent.name
