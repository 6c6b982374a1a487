"""The quantized model as a Hugging Face folder, checked against what was quantized."""

import json
import re
import shutil
from pathlib import Path

import torch
from safetensors import SafetensorError
from torch import nn

from workers.build_steps.quantization import failures
from workers.build_steps.quantization.checkpoint import Checkpoint
from workers.build_steps.quantization.exported import Exported, read_export
from workers.build_steps.quantization.loading import export_dtype
from workers.build_steps.quantization.modelopt import export_hf_checkpoint, logged_warnings

_OS_ERROR = re.compile(r"os error (?P<number>\d+)")
_SHARD_SIZE = "5GB"
_WRITTEN_HERE = ("config.json", "hf_quant_config.json")


def export(model: nn.Module, checkpoint: Checkpoint, folder: Path) -> Exported:
    """Write the folder and return what it holds.

    Everything that describes the model is the original's own word, so that an engine with an
    older Transformers reads the settings that it knows; ModelOpt adds weights and scales.
    """
    _keep_in(export_dtype(checkpoint), model)
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


def _keep_in(dtype: torch.dtype, model: nn.Module) -> None:
    """Give what stays unquantized its type: ModelOpt leaves it in the one that was computed in."""
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.is_floating_point():
                parameter.data = parameter.data.to(dtype)


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
