"""What overrides of config.json change in the facts of a checkpoint, and what they change unseen.

Engines lay these keys over config.json before they read it.
"""

import re
from collections.abc import Mapping
from typing import Any

from controlplane.domain.facts import config_numbers as numbers
from controlplane.domain.facts.checkpoint_facts import CheckpointFacts
from controlplane.domain.facts.rope import Rope

_SIZES = frozenset({
    "num_hidden_layers", "num_layers", "n_layer", "hidden_size", "intermediate_size",
    "num_attention_heads", "num_key_value_heads", "head_dim", "kv_lora_rank", "layer_types",
    "sliding_window", "use_sliding_window", "max_window_layers", "vocab_size",
    "tie_word_embeddings", "num_experts", "num_local_experts", "n_routed_experts",
    "moe_intermediate_size", "torch_dtype", "dtype", "quantization_config", "architectures",
    "model_type",
})  # fmt: skip

_CODE = re.compile(
    r"^(auto_map|custom_pipelines|trust_remote_code|_?name_or_path)$"
    r"|(^|_)(cls|module|plugin|path|dir|file|qualname)$"
)
"""Names of keys that make an engine import or open what they name."""


def overridden(checkpoint: CheckpointFacts, given: Mapping[str, Any]) -> CheckpointFacts:
    """Return the facts with the length that these keys make; the same when done twice."""
    keys = _flat(given)
    positions = numbers.whole(keys.get("max_position_embeddings"))
    rope = Rope(keys)
    if not rope.stretches(checkpoint.model_type):
        return _with_length(checkpoint, positions) if positions else checkpoint
    trained = checkpoint.original_positions or checkpoint.max_positions
    rope.original = rope.original or positions or trained
    if rope.original is None:
        return checkpoint
    changes = {
        "rope_type": rope.kind,
        "rope_factor": rope.factor,
        "original_positions": rope.original,
        "max_positions": rope.stretched(positions or rope.original, checkpoint.model_type),
    }
    return checkpoint.model_copy(update=changes)


def _with_length(checkpoint: CheckpointFacts, positions: int) -> CheckpointFacts:
    stretched = _rope_of(checkpoint).stretched(positions, checkpoint.model_type)
    return checkpoint.model_copy(update={"max_positions": stretched})


def _rope_of(checkpoint: CheckpointFacts) -> Rope:
    """Return the checkpoint's own stretching, which a length of its own does not undo."""
    rope = Rope({})
    rope.kind, rope.factor = checkpoint.rope_type, checkpoint.rope_factor
    rope.original = checkpoint.original_positions if rope.kind == "yarn" else None
    return rope


def uncounted_sizes(given: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the keys that change weights or KV cache and that no plan counts, by dotted path."""
    inner = given.get("text_config")
    nested = inner if isinstance(inner, Mapping) else {}
    return (
        *sorted(_SIZES & given.keys()),
        *(f"text_config.{name}" for name in sorted(_SIZES & nested.keys())),
    )


def code_keys(given: Mapping[str, Any], above: str = "") -> tuple[str, ...]:
    """Return the keys, at any depth and by dotted path, that import code or open files."""
    keys: list[str] = []
    for name, value in given.items():
        path = f"{above}{name}"
        if _CODE.search(str(name)):
            keys.append(path)
        elif isinstance(value, Mapping):
            keys += code_keys(value, f"{path}.")
    return tuple(keys)


def _flat(given: Mapping[str, Any]) -> dict[str, Any]:
    inner = given.get("text_config")
    return {**given, **inner} if isinstance(inner, Mapping) else dict(given)
