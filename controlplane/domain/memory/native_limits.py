"""What the native engine takes where a config leaves a limit open.

A batch of 256 at a context of 128 k would reserve hundreds of GB on a host that also runs the
rest; the difference is shown as an effective value, and a limit that is written is kept.
"""

from collections.abc import Mapping

from controlplane.domain.facts.architectures import Role
from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.spec.choices import BaseModelKind
from controlplane.domain.spec.spec import Spec

DEFAULT_BATCH_SIZE = 8
DEFAULT_SEQUENCE_TOKENS = 8192
ENCODER_ROWS: Mapping[BaseModelKind, int] = {
    BaseModelKind.ENCODER: 32,
    BaseModelKind.ENCODER_BERT: 1024,
}
"""Texts of one forward at most. Source: truss 0.18.36 serving_image_builder.py."""
DECODER_STEP_TOKENS = 512
"""Tokens fed in one step: a longer piece of prompt is no faster on a CPU and only makes the other
rows wait."""
ENCODER_STEP_TOKENS = 2048
"""Tokens of one forward of an encoder on a CPU, which more would not make faster."""


def effective_batch_size(spec: Spec) -> int:
    """Return the rows that are computed together."""
    if most := ENCODER_ROWS.get(spec.base_model):
        return min(spec.max_batch_size, most)
    return spec.max_batch_size if spec.gives_batch_size else DEFAULT_BATCH_SIZE


def effective_sequence_length(spec: Spec, checkpoint: CheckpointFacts) -> int:
    """Return the tokens of prompt and answer, or of the text, that one request may have."""
    if spec.base_model.is_encoder and checkpoint.role is not Role.SEQUENCE_CLASSIFICATION:
        return min(checkpoint.max_positions or DEFAULT_SEQUENCE_TOKENS, spec.max_num_tokens)
    if spec.max_seq_len is not None:
        return spec.max_seq_len
    return min(checkpoint.max_positions or DEFAULT_SEQUENCE_TOKENS, DEFAULT_SEQUENCE_TOKENS)


def effective_step_tokens(spec: Spec, checkpoint: CheckpointFacts) -> int:
    """Return the tokens of one forward at most."""
    if not spec.base_model.is_encoder:
        return min(spec.max_num_tokens, DECODER_STEP_TOKENS)
    longest = effective_sequence_length(spec, checkpoint)
    return min(spec.max_num_tokens, max(ENCODER_STEP_TOKENS, longest))
