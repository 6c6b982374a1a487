"""What lies on a GPU with the weights under vLLM, and is counted by it as weights.

Source: vLLM 0.25.1, `rotary_embedding/base.py` (one table for all layers), and PyTorch 2.11,
`CUDACachingAllocator.cpp` (`kSmallSize`, `kMinLargeAlloc`, `kLargeBuffer`); on an H200 it told 5 MB
more than SmolLM2 has in bfloat16, which is this. Checked 2026-11-28.
"""

from collections.abc import Iterator

from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.facts.gpus import MIB

_TABLE_NUMBER_BYTES = 2
_LEAST, _MOST, _SEGMENT = MIB, 10 * MIB, 20 * MIB
"""A matrix between these is cut out of a segment of 20 MiB."""
_REST = MIB // 2
"""What a segment ends with on average: a rest below 1 MiB is given away with the last matrix."""


def engine_table_bytes(checkpoint: CheckpointFacts, *, number_bytes: float, devices: int) -> int:
    """Return the tables' bytes on each of the GPUs that share the weights."""
    table = (checkpoint.max_positions or 0) * (checkpoint.head_dim or 0) * _TABLE_NUMBER_BYTES
    return table + round(sum(_cut(checkpoint, number_bytes / devices)) / _SEGMENT * _REST)


def _cut(checkpoint: CheckpointFacts, number_bytes: float) -> Iterator[float]:
    """Yield the bytes of each kind of matrix, in all layers, that is cut out of segments."""
    if checkpoint.experts:
        return
    hidden, inner = checkpoint.hidden_size or 0, checkpoint.intermediate_size or 0
    queries = (checkpoint.attention_heads or 0) * (checkpoint.head_dim or 0)
    keys = (checkpoint.kv_heads or 0) * (checkpoint.head_dim or 0)
    for rows in (queries + 2 * keys, queries, 2 * inner, inner):
        size = rows * hidden * number_bytes
        if _LEAST < size < _MOST:
            yield size * (checkpoint.layers or 0)
