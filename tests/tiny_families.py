"""Random checkpoints of half a megabyte, one per family, written by Transformers itself."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import transformers
from safetensors.torch import load_file, save_file
from transformers import (
    BertConfig,
    Gemma3TextConfig,
    Llama4TextConfig,
    LlamaConfig,
    MixtralConfig,
    PretrainedConfig,
    Qwen2Config,
    Qwen3Config,
    Qwen3MoeConfig,
)

from tests.tiny_checkpoint import VOCABULARY, write_tokenizer

HIDDEN, INTERMEDIATE, LAYERS = 64, 128, 2
_POSITIONS = 512
_COMMON: Mapping[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": HIDDEN,
    "intermediate_size": INTERMEDIATE,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": 4,
    "max_position_embeddings": _POSITIONS,
    "pad_token_id": 0,
}
_DECODER: Mapping[str, Any] = {
    **_COMMON,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "bos_token_id": 1,
    "eos_token_id": 2,
}


@dataclass(frozen=True, kw_only=True)
class Family:
    """How a family's checkpoint is made."""

    model_class: str
    config: Callable[[], PretrainedConfig]


FAMILIES: Mapping[str, Family] = {
    "llama": Family(
        model_class="LlamaForCausalLM",
        config=lambda: LlamaConfig(**_DECODER, tie_word_embeddings=False),
    ),
    "qwen2": Family(
        model_class="Qwen2ForCausalLM",
        config=lambda: Qwen2Config(**_DECODER, tie_word_embeddings=True),
    ),
    "qwen3": Family(
        model_class="Qwen3ForCausalLM",
        config=lambda: Qwen3Config(**_DECODER, tie_word_embeddings=False),
    ),
    "gemma": Family(
        model_class="Gemma3ForCausalLM",
        config=lambda: Gemma3TextConfig(
            **_DECODER,
            tie_word_embeddings=True,
            sliding_window=64,
            layer_types=["sliding_attention", "full_attention"],
            query_pre_attn_scalar=16,
        ),
    ),
    "moe": Family(
        model_class="Qwen3MoeForCausalLM",
        config=lambda: Qwen3MoeConfig(
            **_DECODER,
            tie_word_embeddings=False,
            num_experts=4,
            num_experts_per_tok=2,
            moe_intermediate_size=64,
            decoder_sparse_step=1,
        ),
    ),
    "mixtral": Family(
        model_class="MixtralForCausalLM",
        config=lambda: MixtralConfig(
            **_DECODER,
            tie_word_embeddings=False,
            num_local_experts=4,
            num_experts_per_tok=2,
        ),
    ),
    "bert": Family(model_class="BertModel", config=lambda: BertConfig(**_COMMON)),
    "bert_classifier": Family(
        model_class="BertForSequenceClassification",
        config=lambda: BertConfig(**_COMMON, num_labels=3),
    ),
}
"""Name -> family; the keys are what tests are parametrised with."""

STACKED: Mapping[str, Family] = {
    "llama4": Family(
        model_class="Llama4ForCausalLM",
        config=lambda: Llama4TextConfig(
            **_DECODER,
            tie_word_embeddings=False,
            intermediate_size_mlp=INTERMEDIATE,
            num_local_experts=4,
            num_experts_per_tok=1,
        ),
    ),
}
"""Families of which a checkpoint and its export have a layer's experts as one tensor."""


def make_family(name: str, folder: Path, *, seed: int = 0, **changes: Any) -> Path:
    """Fill `folder` with a checkpoint of the family, its config changed, and give it back."""
    family = {**FAMILIES, **STACKED}[name]
    torch.manual_seed(seed)
    config = family.config()
    for setting, value in changes.items():
        setattr(config, setting, value)
    model = getattr(transformers, family.model_class)(config)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                # Unit gain per layer: answers differ, so that a broken layer shows.
                parameter.normal_(std=parameter.shape[-1] ** -0.5)
    model.to(torch.bfloat16).save_pretrained(folder)
    write_tokenizer(folder)
    return folder


def stack_experts(folder: Path) -> Path:
    """Write a checkpoint of the family `moe` with a layer's experts as two tensors."""
    path = folder / "model.safetensors"
    tensors = load_file(path)
    names = [name for name in tensors if ".experts.0.down_proj." in name]
    for experts in [name.removesuffix(".0.down_proj.weight") for name in names]:
        parts = {
            projection: torch.stack(
                [tensors.pop(f"{experts}.{number}.{projection}.weight") for number in range(4)]
            )
            for projection in ("gate_proj", "up_proj", "down_proj")
        }
        both = torch.cat([parts["gate_proj"], parts["up_proj"]], dim=1)
        tensors |= {f"{experts}.gate_up_proj": both, f"{experts}.down_proj": parts["down_proj"]}
    save_file(tensors, path, metadata={"format": "pt"})
    return folder
