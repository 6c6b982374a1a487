"""Reads LoRA adapters in PEFT's form, and refuses what would not do what its maker trained."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from controlplane.domain.json_text import read_json
from workers.engine.errors import CheckpointRefused

CONFIG_FILE = "adapter_config.json"
WEIGHTS_FILE = "adapter_model.safetensors"
TENSOR_NAME = re.compile(r"base_model\.model\.(?P<module>.+)\.lora_(?P<part>[AB])\.weight")
SETTINGS_THAT_CHANGE_THE_SUM = (
    "use_dora", "fan_in_fan_out", "modules_to_save", "lora_bias", "trainable_token_indices",
    "layer_replication", "target_parameters", "megatron_config", "alora_invocation_tokens",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Adapter:
    name: str
    rank: int
    """The largest of its modules."""
    pairs: Mapping[str, tuple[Tensor, Tensor]]
    """Module -> A `[rank, in]` and B `[out, rank]`, the scaling in B already."""


def read_adapter(name: str, folder: Path, model: nn.Module, *, max_rank: int | None) -> Adapter:
    """Give back the adapter in a folder, made for this model. Raises: `CheckpointRefused`."""
    try:
        return _read(name, folder, model, max_rank)
    except (OSError, SafetensorError, ValueError) as error:
        raise CheckpointRefused(f"The adapter `{name}` in `{folder}`: {error}") from error


def _read(name: str, folder: Path, model: nn.Module, max_rank: int | None) -> Adapter:
    config = _checked_config(folder)
    tensors = _tensors(folder)
    modules = dict(model.named_modules())
    pairs = {}
    for module in sorted({module for module, _ in tensors}):
        a, b = (tensors.get((module, part)) for part in "AB")
        _check_pair(module, modules.get(module), a, b, max_rank)
        if a is not None and b is not None:
            pairs[module] = a.float(), b.float() * _scaling(config, module, a.shape[0])
    if not pairs:
        raise ValueError("it holds no LoRA tensors.")
    return Adapter(name=name, rank=max(len(a) for a, _ in pairs.values()), pairs=pairs)


def _checked_config(folder: Path) -> Mapping[str, Any]:
    path = folder / CONFIG_FILE
    if not path.is_file():
        raise ValueError(f"it has no {CONFIG_FILE}, so it is no PEFT adapter.")
    config: Mapping[str, Any] = read_json(path.read_text())
    if config.get("peft_type") != "LORA":
        raise ValueError(f"`peft_type` is `{config.get('peft_type')}`; LORA is what is served.")
    if config.get("bias", "none") != "none":
        raise ValueError(f"`bias` is `{config['bias']}`; only adapters without biases are served.")
    if active := [key for key in SETTINGS_THAT_CHANGE_THE_SUM if config.get(key)]:
        raise ValueError(f"it uses `{active[0]}`, which the native engine does not compute.")
    return config


def _tensors(folder: Path) -> Mapping[tuple[str, str], Tensor]:
    if not (folder / WEIGHTS_FILE).is_file():
        pickles = sorted(path.name for path in folder.glob("*.bin"))
        reason = f"only {pickles[0]}, and a pickle can run code" if pickles else "no weights"
        raise ValueError(f"it holds {reason}; save it with safetensors as {WEIGHTS_FILE}.")
    tensors = {}
    for key, tensor in load_file(folder / WEIGHTS_FILE).items():
        match = TENSOR_NAME.fullmatch(key)
        if match is None:
            raise ValueError(f"`{key}` is no matrix of a LoRA adapter of this model.")
        if not tensor.isfinite().all():
            raise ValueError(f"`{key}` holds values that are not finite.")
        tensors[match["module"], match["part"]] = tensor
    return tensors


def _check_pair(
    name: str, module: nn.Module | None, a: Tensor | None, b: Tensor | None, max_rank: int | None
) -> None:
    if not isinstance(module, nn.Linear) or name == "lm_head":
        raise ValueError(f"`{name}` is no projection of this model's layers.")
    if a is None or b is None:
        raise ValueError(f"`{name}` has only one of lora_A and lora_B.")
    expected = (module.in_features, module.out_features)
    if a.dim() != 2 or b.dim() != 2 or (a.shape[1], b.shape[0]) != expected:
        raise ValueError(
            f"`{name}` takes {expected[0]} numbers and gives {expected[1]}; the adapter's matrices "
            f"are {list(a.shape)} and {list(b.shape)}, so it was trained on another model."
        )
    if a.shape[0] != b.shape[1]:
        raise ValueError(f"`{name}` has rank {a.shape[0]} in lora_A and {b.shape[1]} in lora_B.")
    if max_rank is not None and a.shape[0] > max_rank:
        raise ValueError(
            f"`{name}` has rank {a.shape[0]}, above `max_lora_rank` {max_rank}; raise that limit."
        )


def _scaling(config: Mapping[str, Any], module: str, rank: int) -> float:
    """By PEFT's rule: a key of the pattern fits a whole name, or the end of one behind a dot."""
    patterns = (config.get("alpha_pattern") or {}).items()
    fitting = (alpha for key, alpha in patterns if re.match(rf"(.*\.)?({key})$", module))
    alpha = next(fitting, config.get("lora_alpha", 8))
    return float(alpha / math.sqrt(rank) if config.get("use_rslora") else alpha / rank)


def stacked(adapters: list[Adapter], module: str) -> tuple[Tensor, Tensor]:
    """Give back all adapters' matrices of a module, zeros where one has none.

    Shapes: A `[adapters, in, rank]`, B `[adapters, rank, out]`, with the largest rank.
    """
    given = [adapter.pairs.get(module) for adapter in adapters]
    one_a, one_b = next(pair for pair in given if pair is not None)
    pairs = [pair or (one_a[:0], one_b[:, :0]) for pair in given]
    stacked_a = pad_sequence([a for a, _ in pairs], batch_first=True).transpose(1, 2)
    return stacked_a.contiguous(), pad_sequence([b.T for _, b in pairs], batch_first=True)
