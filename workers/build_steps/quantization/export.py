"""The quantized model as a Hugging Face folder, checked against what was quantized."""

import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

import torch
from safetensors import SafetensorError
from torch import nn

from controlplane.domain.facts.quantization import Number
from controlplane.domain.failures.registry import quantization
from workers.build_steps.failures import StepFailure
from workers.build_steps.quantization.block_scales import write_block_scales
from workers.build_steps.quantization.checkpoint import Checkpoint
from workers.build_steps.quantization.declared_exclusions import name_excluded
from workers.build_steps.quantization.descriptions import (
    CONFIG,
    config_of_export,
    kept_files,
)
from workers.build_steps.quantization.exported import Exported, read_export
from workers.build_steps.quantization.loading import export_dtype
from workers.build_steps.quantization.modelopt import export_hf_checkpoint, logged_warnings
from workers.build_steps.quantization.packing import write_packed
from workers.imports import without_compiler

_OS_ERROR = re.compile(r"os error (?P<number>\d+)")
_SHARD_SIZE = "5GB"


def export(
    model: nn.Module,
    checkpoint: Checkpoint,
    folder: Path,
    *,
    number: Number | None = None,
    excluded: Sequence[str] = (),
) -> Exported:
    """Write the folder and return what it holds.

    Everything that describes the model is the original's own word, so that an engine with an
    older Transformers reads the settings that it knows; ModelOpt adds weights and scales.
    Where `number` has a form that is not ModelOpt's, the folder gets that; `excluded` are the
    config's own patterns of what stays in 16 bits.
    """
    _keep_in(export_dtype(checkpoint), model)
    try:
        with without_compiler(), logged_warnings(), torch.inference_mode():
            export_hf_checkpoint(
                model,
                dtype=export_dtype(checkpoint),
                export_dir=folder,
                max_shard_size=_SHARD_SIZE,
            )
    except SafetensorError as error:
        # It hides the number that says whether the disk is full.
        match = _OS_ERROR.search(str(error))
        if match is None:
            raise StepFailure.of(quantization.EXPORT, reason=str(error)) from error
        raise OSError(int(match["number"]), str(error)) from error
    except (AssertionError, NotImplementedError, RuntimeError, ValueError, KeyError) as error:
        raise StepFailure.of(quantization.EXPORT, reason=f"ModelOpt gave up ({error})") from error
    _restore_descriptions(checkpoint, folder)
    if excluded:
        name_excluded(folder, excluded)
    if number is not None and number.is_packed:
        write_packed(folder, str(number.modelopt_name), export_dtype(checkpoint))
    if number is not None and number.block:
        write_block_scales(folder)
    return read_export(folder)


def _keep_in(dtype: torch.dtype, model: nn.Module) -> None:
    """Give what stays unquantized its type: ModelOpt leaves it in the one that was computed in."""
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.is_floating_point():
                parameter.data = parameter.data.to(dtype)


def _restore_descriptions(checkpoint: Checkpoint, folder: Path) -> None:
    exported = json.loads((folder / CONFIG).read_bytes())
    if "quantization_config" not in exported:
        raise StepFailure.of(quantization.EXPORT, reason="config.json has no `quantization_config`")
    config = config_of_export(checkpoint, exported["quantization_config"])
    (folder / CONFIG).write_text(json.dumps(config, indent=2) + "\n")
    # What ModelOpt has made up, such as a generation_config.json that the original does without.
    for path in list(kept_files(folder)):
        (folder / path).unlink()
    for path in kept_files(checkpoint.folder):
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(checkpoint.folder / path, target)
