"""How many requests' states vLLM's cache holds, where some layers keep one of a fixed size.

Its hybrid cache has one size of block: layers are taken in groups of equal number, and a block is
what one group keeps, at least the state of a request. Source: reports of vLLM 0.25.1 to 0.28 in its
issue 49064 and its recipes' 551: 856 blocks planned as 924, both on one H100. Read 2026-11-30.
"""

from math import ceil

from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.memory.kv_cache import token_bytes
from controlplane.domain.memory.memory_plan import MemoryPlan

_NEARLY_EQUAL = 1.25
"""Kinds of layers of about the same number form one group each."""


def state_blocks(plan: MemoryPlan) -> int | None:
    size = _block_bytes(plan)
    return plan.kv_cache_bytes // size if size else None


def least_block_tokens(plan: MemoryPlan) -> int:
    """Return the tokens of a block at least, or 0 where no layer keeps a state.

    A block of a layer that attends holds as many bytes as a state, which takes 16 or 32 bits.
    Source: vLLM 0.25.1, `_align_hybrid_block_size` in `platforms/interface.py`; its issue 48401.
    """
    groups, ranks = plan.inputs.checkpoint.groups, plan.parallelism.tensor
    state = max((group.state_bytes for group in groups), default=0)
    kept = [token_bytes(group, plan.kv_element_bytes, ranks) for group in groups if group.kv_heads]
    return ceil(state / ranks) // 2 // max(kept) if kept else 0


def _block_bytes(plan: MemoryPlan) -> int:
    checkpoint = plan.inputs.checkpoint
    largest = max((group.state_bytes for group in checkpoint.groups), default=0)
    layers = ceil(_layers_of_a_group(checkpoint) / plan.parallelism.pipeline)
    return ceil(largest / plan.parallelism.tensor) * layers


def _layers_of_a_group(checkpoint: CheckpointFacts) -> int:
    counts = [group.count for group in checkpoint.groups if group.state_bytes or group.kv_heads]
    if not counts:
        return 0
    return max(counts) if max(counts) < min(counts) * _NEARLY_EQUAL else min(counts)
