"""Bytes of one engine step that are neither weights nor KV cache.

GPU coefficients: aiconfigurator's, tuned on recorded TensorRT-LLM runs (checked 2026-11-27). CPU
constants: measured here, 2026-11-28.
"""

from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.facts.gpus import GIB, MIB

MINIMUM_ACTIVATION_BYTES = 70 * MIB
CPU_RUNTIME_BYTES = round(0.9 * GIB)
"""Python, torch, transformers and llguidance are resident with 0.38 GiB after a first forward; the
rest is room for the peak while weights are loaded and converted, and for the allocator."""
CUDA_RUNTIME_BYTES = round(1.5 * GIB)
"""Of the native engine on a GPU: CUDA's context, cuBLAS, and what the allocator keeps.

On one H200 SmolLM2 held 0.73 GiB beside weights and KV cache, steps included, 2026-11-28; the rest
is room for what larger shapes keep, which was not measured.
"""
ROWS_IN_THE_SLACK = 256
"""Logits and sampling state of so many rows are within the runtime's own constant."""
_LLAMA_LIKE = frozenset({"llama", "mistral"})
_COEFFICIENTS = {
    "llama": {1: 11.0, 2: 6.5},
    "dense": {1: 10.0, 2: 6.0},
    "experts": {1: 22.0, 2: 13.0},
}
_MANY_DEVICES = {"llama": 5.0, "dense": 5.0, "experts": 10.0}
_FLOAT32 = 4


def gpu_activation_bytes(
    checkpoint: CheckpointFacts,
    *,
    max_num_tokens: int,
    tensor_parallel: int,
    rows: int = ROWS_IN_THE_SLACK,
) -> int:
    """Return the peak of one engine step on one GPU; `rows` ask for logits in it."""
    width = (checkpoint.attention_heads or 0) * (checkpoint.head_dim or 0)
    width = width or checkpoint.hidden_size or 0
    kind = _kind(checkpoint)
    coefficient = _COEFFICIENTS[kind].get(tensor_parallel, _MANY_DEVICES[kind])
    step = max(MINIMUM_ACTIVATION_BYTES, round(2 * max_num_tokens * width * coefficient))
    beyond = max(0, rows - ROWS_IN_THE_SLACK) * (checkpoint.vocabulary_size or 0)
    return step + _FLOAT32 * beyond


def native_activation_bytes(
    checkpoint: CheckpointFacts, *, max_num_tokens: int, max_batch_size: int, number_bytes: int
) -> int:
    """Return the peak of one step of the native engine: hidden states, one MLP, and the logits."""
    hidden = checkpoint.hidden_size or 0
    per_token = 6 * hidden + 3 * (checkpoint.intermediate_size or 4 * hidden)
    logits = 3 * max_batch_size * (checkpoint.vocabulary_size or 0)
    return number_bytes * max_num_tokens * per_token + _FLOAT32 * logits


def score_bytes(checkpoint: CheckpointFacts, *, max_num_tokens: int, length: int) -> int:
    """Return what each token's scores with every other take where no fused kernel spares them."""
    return 3 * _FLOAT32 * (checkpoint.attention_heads or 0) * max_num_tokens * length


def _kind(checkpoint: CheckpointFacts) -> str:
    if checkpoint.experts or checkpoint.kv_lora_rank:
        return "experts"
    return "llama" if checkpoint.model_type in _LLAMA_LIKE else "dense"
