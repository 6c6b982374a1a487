"""What tensor parallelism gives each rank of a model, and whether that comes out even."""

from dataclasses import dataclass
from math import gcd

from controlplane.domain.facts.checkpoint_facts import CheckpointFacts
from controlplane.domain.facts.families import HALVED_MLP, WHEN_UNSAID

_PADDED_TO = 64
"""Rows to which vLLM pads a vocabulary before it divides it."""


_FIRST_DENSE = frozenset(
    model_type for model_type, sizes in WHEN_UNSAID.items() if "first_dense_layers" in sizes
)
"""Families of experts whose first layers have plain MLPs."""


@dataclass(frozen=True, kw_only=True)
class MlpShare:
    width: int
    shares: int

    @property
    def is_even(self) -> bool:
        return self.width % self.shares == 0

    @property
    def of_a_rank(self) -> int:
        return self.width // self.shares

    def is_cut_amid(self, rows: int) -> bool:
        """Return whether even shares end within so many rows; one whole share is as it was made."""
        return self.shares > 1 and self.is_even and self.of_a_rank % rows != 0


def divides_heads(checkpoint: CheckpointFacts, ranks: int) -> bool:
    heads, kv_heads = checkpoint.attention_heads, checkpoint.kv_heads
    if heads is None:
        return True
    kv_heads = kv_heads or heads
    return heads % ranks == 0 and (kv_heads % ranks == 0 or ranks % kv_heads == 0)


def divides_whole(
    checkpoint: CheckpointFacts, ranks: int, *, keeps_experts_whole: bool = False
) -> bool:
    """Return whether each rank gets the same, in whole blocks and groups of scales, as in vLLM."""
    share = mlp_share(checkpoint, ranks, keeps_experts_whole=keeps_experts_whole)
    if not divides_heads(checkpoint, ranks) or padded_vocabulary(checkpoint) % ranks:
        return False
    scaled = (rows_of_a_block(checkpoint), inputs_of_a_group(checkpoint))
    is_cut = any(share.is_cut_amid(each) for each in scaled)
    return share.is_even and not is_cut and not cuts_attention(checkpoint, ranks)


def padded_vocabulary(checkpoint: CheckpointFacts) -> int:
    return -(-(checkpoint.vocabulary_size or 0) // _PADDED_TO) * _PADDED_TO


def mlp_share(
    checkpoint: CheckpointFacts, ranks: int, *, keeps_experts_whole: bool = False
) -> MlpShare:
    """Return how an MLP, or each expert, is shared out; 0 wide where the files do not say."""
    width = checkpoint.moe_intermediate_size or checkpoint.intermediate_size or 0
    width //= 2 if checkpoint.model_type in HALVED_MLP else 1
    is_whole = keeps_experts_whole and has_experts(checkpoint)
    return MlpShare(width=width, shares=1 if is_whole else ranks)


def has_experts(checkpoint: CheckpointFacts) -> bool:
    return bool(checkpoint.experts or checkpoint.moe_intermediate_size)


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


def width_beside_blocks(checkpoint: CheckpointFacts, share: MlpShare) -> int | None:
    """Return the width of an MLP that is no whole number of blocks, however many ranks there are.

    vLLM stacks two of them, and the second has to begin with a block. Source: vLLM 0.25.1 to
    0.33.0, `validate_fp8_block_shape` and `validate_fp8_moe_block_shape`; checked 2026-12-01.
    """
    existing, rows = checkpoint.existing_quantization, rows_of_a_block(checkpoint)
    if existing is None or not share.is_even or share.is_cut_amid(rows):
        return None
    has_dense = not has_experts(checkpoint) or checkpoint.model_type in _FIRST_DENSE
    widths = [0 if existing.keeps_mlp or not has_dense else checkpoint.intermediate_size or 0]
    widths += [checkpoint.moe_intermediate_size or 0]
    return next((each for each in widths if each % rows), None)


def inputs_of_a_group(checkpoint: CheckpointFacts) -> int:
    """Return the inputs of packed integers that share a scale; 1 where there are no groups."""
    existing = checkpoint.existing_quantization
    return existing.group or 1 if existing else 1
