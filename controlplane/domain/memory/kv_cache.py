"""Bytes that one token keeps in the KV cache of one card.

Source: TensorRT-LLM 1.2, `2 * ceil(kv heads / tp) * head size * layers of the rank * bytes`;
MLA keeps one latent per layer and is not divided by tensor parallelism. Checked 2026-11-27.
"""

from math import ceil

from controlplane.domain.facts.checkpoints import CheckpointFacts


def kv_bytes_per_token(
    checkpoint: CheckpointFacts,
    *,
    element_bytes: int,
    tensor_parallel: int = 1,
    pipeline_parallel: int = 1,
) -> int | None:
    """Return the bytes per token on one card, or None where the shape is not known."""
    if not checkpoint.layers:
        return None
    layers = ceil(checkpoint.layers / pipeline_parallel)
    if checkpoint.kv_lora_rank:
        width = checkpoint.kv_lora_rank + (checkpoint.qk_rope_head_dim or 0)
        return layers * width * element_bytes
    if not (checkpoint.kv_heads and checkpoint.head_dim):
        return None
    heads = ceil(checkpoint.kv_heads / tensor_parallel)
    return 2 * heads * checkpoint.head_dim * layers * element_bytes
