"""Reads a checkpoint folder and gives back a model that can be served."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ["HF_HUB_OFFLINE"] = "1"  # read at import: a folder is all that is ever loaded
os.environ["TRANSFORMERS_OFFLINE"] = "1"

import torch
import transformers
from torch import nn

from controlplane.domain.runtimes.native.capabilities import GENERATED
from workers.engine.checkpoint_folder import (
    read_config,
    refuse_pickles,
    refusing_config,
)
from workers.engine.errors import CheckpointRefused
from workers.engine.kv_cache import CacheScales, CacheShape
from workers.engine.long_rope import LongRope, take_over_rope
from workers.engine.model_class import class_of
from workers.engine.quantized_loader import EmulatedModel, load_emulated
from workers.engine.runner import ATTENTION_NAME
from workers.engine.scheme_reader import read_scheme
from workers.engine.settings import EngineSettings
from workers.engine.whole import refuse_not_finite, refuse_unfit

LENGTH_DEPENDENT_ROPE = "dynamic"
"""A rotary scaling that looks at the longest row of a batch, and so mixes rows up."""


@dataclass(frozen=True, kw_only=True)
class LoadedModel:
    module: nn.Module
    shape: CacheShape
    max_positions: int
    vocabulary_size: int
    end_tokens: frozenset[int]
    weights_bytes: int
    """What the weights take here: those of a quantized checkpoint are expanded."""
    long_rope: LongRope | None = None
    cache_scales: tuple[CacheScales, ...] = ()
    emulated: tuple[str, ...] = ()
    """What this hardware has no numbers for, and what is done instead."""


def find_model_class(folder: Path) -> Any:
    """Give back Transformers' class for the folder. Raises: `CheckpointRefused`."""
    config = read_config(folder)
    read_scheme(folder, config)
    refuse_pickles(folder)
    named = config.get("architectures") or ["none"]
    if named[0] not in GENERATED:
        raise CheckpointRefused(
            f"The checkpoint's architecture is `{named[0]}`; the native engine serves "
            f"{', '.join(sorted(GENERATED))}."
        )
    return class_of(folder, named[0])


def load_model(model_class: Any, settings: EngineSettings, dtype: torch.dtype) -> LoadedModel:
    """Read weights and facts of the folder. Raises: `CheckpointRefused` with the reason."""
    transformers.utils.logging.disable_progress_bar()
    folder = settings.model_dir
    scheme = read_scheme(folder, read_config(folder))
    if scheme is None:
        model = EmulatedModel(module=_read_plain(model_class, folder, dtype))
    else:
        model = load_emulated(model_class, folder, scheme, dtype=dtype, attention=ATTENTION_NAME)
    module: Any = model.module
    module.eval().requires_grad_(False).to(settings.device)
    refuse_not_finite(module)
    return LoadedModel(
        module=module,
        shape=_cache_shape(module.config, dtype),
        max_positions=_position_limit(module.config, settings.max_seq_len),
        vocabulary_size=module.config.vocab_size,
        end_tokens=_end_tokens(module),
        weights_bytes=sum(p.numel() * p.element_size() for p in module.parameters()),
        long_rope=take_over_rope(module, settings.device),
        cache_scales=model.cache_scales,
        emulated=model.emulated,
    )


def choose_dtype(name: str, device: str, *, pools: bool = False) -> torch.dtype:
    """Give back the type to compute in; `auto` is what the planner takes on such a machine.

    Vectors are made in float32 on every CPU: stored ones are compared with those of other machines.
    """
    if name != "auto":
        return {"float32": torch.float32, "bfloat16": torch.bfloat16}[name]
    if device.startswith("cuda"):
        return torch.bfloat16
    capabilities = torch.cpu.get_capabilities()
    native = capabilities.get("avx512_bf16") or capabilities.get("amx_bf16")
    return torch.bfloat16 if native and not pools else torch.float32


def _read_plain(model_class: Any, folder: Path, dtype: torch.dtype) -> nn.Module:
    with refusing_config(folder, model_class):
        module, report = model_class.from_pretrained(
            folder, dtype=dtype, attn_implementation=ATTENTION_NAME, use_safetensors=True,
            local_files_only=True, output_loading_info=True, ignore_mismatched_sizes=True,
        )  # fmt: skip
    refuse_unfit(module, report)
    model: nn.Module = module
    return model


def _cache_shape(config: Any, dtype: torch.dtype) -> CacheShape:
    head_dim = getattr(config, "head_dim", None)
    return CacheShape(
        layers=config.num_hidden_layers,
        kv_heads=config.num_key_value_heads,
        head_dim=head_dim or config.hidden_size // config.num_attention_heads,
        dtype=dtype,
    )


def _position_limit(config: Any, requested: int | None) -> int:
    limit: int = config.max_position_embeddings
    rope = getattr(config, "rope_parameters", None) or {}
    if rope.get("rope_type") == LENGTH_DEPENDENT_ROPE:
        limit = rope.get("original_max_position_embeddings") or limit
    if requested is not None and requested > limit:
        raise CheckpointRefused(
            f"max_seq_len is {requested}, but the checkpoint has {limit} positions. "
            f"Set max_seq_len to {limit} or less."
        )
    return requested or limit


def _end_tokens(module: Any) -> frozenset[int]:
    """The tokens that end an answer: generation_config.json's, else config.json's."""
    named = module.generation_config.eos_token_id
    if named is None:
        named = module.config.eos_token_id
    if named is None:
        return frozenset()
    return frozenset(named if isinstance(named, list) else [named])
