"""Projections that a checkpoint applies to pooled vectors."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import nn

from controlplane.domain.json_text import read_json
from workers.engine.checkpoint_folder import refuse_pickles
from workers.engine.errors import CheckpointRefused

ACTIVATIONS: Mapping[str, type[nn.Module]] = {
    "torch.nn.modules.linear.Identity": nn.Identity,
    "torch.nn.modules.activation.Tanh": nn.Tanh,
    "torch.nn.modules.activation.ReLU": nn.ReLU,
    "torch.nn.modules.activation.GELU": nn.GELU,
    "torch.nn.modules.activation.SiLU": nn.SiLU,
}
"""Names that a checkpoint may give; nothing is imported by name."""

_DEFAULT, _NONE = "torch.nn.modules.activation.Tanh", "torch.nn.modules.linear.Identity"


def load_dense(
    folders: Sequence[Path], dtype: torch.dtype, device: str
) -> tuple[nn.Sequential, ...]:
    """Give back the layers in their order. Raises: `CheckpointRefused`."""
    return tuple(_layer(folder).to(device, dtype).requires_grad_(False) for folder in folders)


def _layer(folder: Path) -> nn.Sequential:
    settings = read_json((folder / "config.json").read_bytes())
    named = settings.get("activation_function", _DEFAULT) or _NONE
    if named not in ACTIVATIONS or settings.get("use_residual"):
        raise CheckpointRefused(
            f"`{folder}` is a layer with `{named}`"
            f"{' and a residual' if settings.get('use_residual') else ''}; the native engine knows "
            f"{', '.join(name.rpartition('.')[2] for name in ACTIVATIONS)}."
        )
    refuse_pickles(folder)
    linear = nn.Linear(
        settings["in_features"], settings["out_features"], bias=settings.get("bias", True)
    )
    stored = load_file(folder / "model.safetensors")
    try:
        linear.load_state_dict(
            {name.removeprefix("linear."): each for name, each in stored.items()}
        )
    except RuntimeError as error:
        reason = " ".join(str(error).split())
        raise CheckpointRefused(f"The weights of `{folder}` are not its own: {reason}") from None
    return nn.Sequential(linear, ACTIVATIONS[named]())
