"""Memory that is neither weights nor KV cache.

GPU constants: aiconfigurator's, fitted to 72 recorded TensorRT-LLM runs, of which this form
predicts 70 within 2 % (checked 2026-11-27). CPU constants: measured here, 2026-11-28.
"""

from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.facts.gpus import GIB, MIB

GPU_RUNTIME_BYTES = round(3.5 * GIB)
"""CUDA context, cuBLAS, graphs, and the slack of the fit."""
BLOCK_RESERVE = 0.015
"""Share of the KV budget that the block allocator keeps."""
NCCL_BYTES = {1: 0, 2: 342 * 10**6}
NCCL_BYTES_MANY = 392 * 10**6
MINIMUM_ACTIVATION_BYTES = 70 * MIB
CPU_RUNTIME_BYTES = round(0.9 * GIB)
"""Python, torch, transformers and llguidance are resident with 0.38 GiB after a first forward; the
rest is room for the peak while weights are loaded and converted, and for the allocator."""
_LLAMA_LIKE = frozenset({"llama", "mistral"})
_COEFFICIENTS = {
    "llama": {1: 11.0, 2: 6.5},
    "dense": {1: 10.0, 2: 6.0},
    "experts": {1: 22.0, 2: 13.0},
}
_MANY_CARDS = {"llama": 5.0, "dense": 5.0, "experts": 10.0}
_FLOAT32 = 4


def gpu_activation_bytes(
    checkpoint: CheckpointFacts, *, max_num_tokens: int, tensor_parallel: int
) -> int:
    """Return the peak of one engine step on one GPU."""
    width = (checkpoint.attention_heads or 0) * (checkpoint.head_dim or 0)
    width = width or checkpoint.hidden_size or 0
    kind = _kind(checkpoint)
    coefficient = _COEFFICIENTS[kind].get(tensor_parallel, _MANY_CARDS[kind])
    return max(MINIMUM_ACTIVATION_BYTES, round(2 * max_num_tokens * width * coefficient))


def gpu_overhead_bytes(world_size: int) -> int:
    """Return what runtime and communication take on each GPU."""
    return GPU_RUNTIME_BYTES + NCCL_BYTES.get(world_size, NCCL_BYTES_MANY)


def cpu_activation_bytes(
    checkpoint: CheckpointFacts, *, max_num_tokens: int, max_batch_size: int
) -> int:
    """Return the peak of one engine step on a CPU: hidden states, one MLP, and the logits."""
    hidden = checkpoint.hidden_size or 0
    per_token = 6 * hidden + 3 * (checkpoint.intermediate_size or 4 * hidden)
    logits = 3 * max_batch_size * (checkpoint.vocabulary_size or 0)
    return _FLOAT32 * (max_num_tokens * per_token + logits)


def _kind(checkpoint: CheckpointFacts) -> str:
    if checkpoint.experts or checkpoint.kv_lora_rank:
        return "experts"
    return "llama" if checkpoint.model_type in _LLAMA_LIKE else "dense"
