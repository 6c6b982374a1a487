"""What a config's `model_kwargs` change in the facts of a checkpoint, and what they change unseen.

Engines lay these keys over config.json before they read it.
"""

from collections.abc import Mapping
from typing import Any

from controlplane.domain.facts import config_numbers as numbers
from controlplane.domain.facts.checkpoint_facts import CheckpointFacts

_STRETCHED = ("yarn", "linear", "dynamic")
"""Kinds of rope whose factor engines multiply the length by."""
_SIZES = frozenset({
    "num_hidden_layers", "num_layers", "n_layer", "hidden_size", "intermediate_size",
    "num_attention_heads", "num_key_value_heads", "head_dim", "kv_lora_rank", "layer_types",
    "sliding_window", "use_sliding_window", "max_window_layers", "vocab_size",
    "tie_word_embeddings", "num_experts", "num_local_experts", "n_routed_experts",
    "moe_intermediate_size", "torch_dtype", "dtype", "quantization_config",
})  # fmt: skip


def overridden(checkpoint: CheckpointFacts, given: Mapping[str, Any]) -> CheckpointFacts:
    """Return the facts with the length that these keys make; the same when done twice."""
    keys = _flat(given)
    changes: dict[str, Any] = {}
    if positions := numbers.whole(keys.get("max_position_embeddings")):
        changes["max_positions"] = positions
    rope = numbers.mapping(keys, "rope_scaling", "rope_parameters")
    kind, factor = rope.get("rope_type", rope.get("type")), numbers.real(rope.get("factor"))
    if kind in _STRETCHED and factor and factor >= 1:
        written = numbers.whole(rope.get("original_max_position_embeddings"))
        trained = written or checkpoint.original_positions or checkpoint.max_positions
        changes |= {"rope_type": kind, "rope_factor": factor, "original_positions": trained}
        changes["max_positions"] = int(trained * factor) if trained else None
    return checkpoint.model_copy(update=changes) if changes else checkpoint


def uncounted_sizes(given: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the keys that change weights or KV cache and that no plan counts."""
    return tuple(sorted(_SIZES & _flat(given).keys()))


def _flat(given: Mapping[str, Any]) -> dict[str, Any]:
    inner = given.get("text_config")
    return {**given, **inner} if isinstance(inner, Mapping) else dict(given)
