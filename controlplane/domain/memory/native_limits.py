"""What the native engine takes where a config leaves a limit open.

A batch of 256 at a context of 128 k would reserve hundreds of GB on a host that also runs the
rest; the difference is shown as an effective value, and a limit that is written is kept.
"""

from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.spec.spec import Spec

DEFAULT_BATCH_SIZE = 8
DEFAULT_SEQUENCE_TOKENS = 8192


def effective_batch_size(spec: Spec) -> int:
    """Return the rows that decode together."""
    return spec.max_batch_size if spec.gives_batch_size else DEFAULT_BATCH_SIZE


def effective_sequence_length(spec: Spec, checkpoint: CheckpointFacts) -> int:
    """Return the tokens of prompt and answer that one request may have."""
    if spec.max_seq_len is not None:
        return spec.max_seq_len
    return min(checkpoint.max_positions or DEFAULT_SEQUENCE_TOKENS, DEFAULT_SEQUENCE_TOKENS)
