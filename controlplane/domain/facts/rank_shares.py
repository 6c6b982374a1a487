"""What tensor parallelism gives each rank of a model, and whether that comes out even."""

from math import gcd

from controlplane.domain.facts.checkpoint_facts import CheckpointFacts

_PADDED_TO = 64
"""Rows to which vLLM pads a vocabulary before it divides it."""


def divides_heads(checkpoint: CheckpointFacts, ranks: int) -> bool:
    """Return whether attention can be divided over so many GPUs."""
    heads, kv_heads = checkpoint.attention_heads, checkpoint.kv_heads
    if heads is None:
        return True
    kv_heads = kv_heads or heads
    return heads % ranks == 0 and (kv_heads % ranks == 0 or ranks % kv_heads == 0)


def divides_whole(checkpoint: CheckpointFacts, ranks: int, *, expert_ranks: int = -1) -> bool:
    """Return whether every rank gets the same, in whole blocks of scales, as vLLM wants it."""
    width = mlp_width(checkpoint, ranks, expert_ranks=expert_ranks)
    widths = (padded_vocabulary(checkpoint), width)
    if not divides_heads(checkpoint, ranks) or any(each % ranks for each in widths):
        return False
    is_cut = (width // ranks) % rows_of_a_block(checkpoint) != 0
    return ranks == 1 or not (is_cut or cuts_attention(checkpoint, ranks))


def padded_vocabulary(checkpoint: CheckpointFacts) -> int:
    """Return the rows of the vocabulary that are divided."""
    return -(-(checkpoint.vocabulary_size or 0) // _PADDED_TO) * _PADDED_TO


def mlp_width(checkpoint: CheckpointFacts, ranks: int, *, expert_ranks: int = -1) -> int:
    """Return how wide an MLP is, or an expert; 0 where ranks keep their experts whole."""
    if not checkpoint.experts:
        return checkpoint.intermediate_size or 0
    return 0 if expert_ranks == ranks else checkpoint.moe_intermediate_size or 0


def cuts_attention(checkpoint: CheckpointFacts, ranks: int) -> bool:
    """Return whether a rank's rows of queries or keys are no whole number of blocks of scales."""
    rows = rows_of_a_block(checkpoint)
    return ranks > 1 and gcd(*attention_shares(checkpoint, ranks), rows) != rows


def attention_shares(checkpoint: CheckpointFacts, ranks: int) -> tuple[int, int]:
    """Return the rows of queries, and of keys, that a rank has; zero where none are in blocks."""
    existing, head = checkpoint.existing_quantization, checkpoint.head_dim or 0
    is_plain = not checkpoint.kv_lora_rank and divides_heads(checkpoint, ranks)
    if existing is None or existing.keeps_attention or not is_plain:
        return 0, 0
    heads = checkpoint.attention_heads or 0
    keys = max(1, (checkpoint.kv_heads or heads) // ranks)
    return heads // ranks * head, keys * head


def rows_of_a_block(checkpoint: CheckpointFacts) -> int:
    """Return the rows of weights that share a scale; 1 where scales come in no blocks."""
    existing = checkpoint.existing_quantization
    return existing.block or 1 if existing else 1
