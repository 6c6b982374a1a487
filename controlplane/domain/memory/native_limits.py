"""What the native engine takes where a config leaves a limit open.

A batch of 256 at a context of 128 k would reserve hundreds of GB on a host that also runs the
rest; the difference is shown as an effective value, and a limit that is written is kept.
"""

from collections.abc import Mapping

from controlplane.domain.facts.architectures import Role
from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.facts.gpus import CPU
from controlplane.domain.spec.choices import BaseModelKind, Dtype
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
rows wait; on a GPU it would take room for the scores of each token with every other."""
ENCODER_STEP_TOKENS = 2048
"""Tokens of one forward of an encoder, which more would not make faster on a CPU."""
ENCODER_GPU_STEP_TOKENS = 8192
"""The same on a GPU, which fewer would not fill."""


def effective_dtype(spec: Spec, *, kind: str, computes_bfloat16: bool) -> Dtype:
    """Return what the engine computes in on a kind of GPU; a CPU may have bfloat16 or not.

    An encoder keeps to float32 on every CPU: its vectors are stored, and compared with those of
    other replicas, where bfloat16 shows from the third digit on.
    """
    if spec.settings.dtype is not Dtype.AUTO:
        return spec.settings.dtype
    if kind != CPU:
        return Dtype.BFLOAT16
    is_half = computes_bfloat16 and not spec.base_model.is_encoder
    return Dtype.BFLOAT16 if is_half else Dtype.FLOAT32


def effective_batch_size(spec: Spec) -> int:
    if most := ENCODER_ROWS.get(spec.base_model):
        return min(spec.max_batch_size, most)
    return spec.max_batch_size if spec.gives_batch_size else DEFAULT_BATCH_SIZE


def effective_sequence_length(spec: Spec, checkpoint: CheckpointFacts) -> int:
    if spec.base_model.is_encoder and checkpoint.role is not Role.SEQUENCE_CLASSIFICATION:
        return min(checkpoint.max_positions or DEFAULT_SEQUENCE_TOKENS, spec.max_num_tokens)
    if spec.max_seq_len is not None:
        return spec.max_seq_len
    return min(checkpoint.max_positions or DEFAULT_SEQUENCE_TOKENS, DEFAULT_SEQUENCE_TOKENS)


def encoder_step_tokens(kind: str) -> int:
    """Return the tokens of one forward of an encoder at most, on a kind of GPU or a CPU."""
    return ENCODER_STEP_TOKENS if kind == CPU else ENCODER_GPU_STEP_TOKENS


def effective_step_tokens(spec: Spec, checkpoint: CheckpointFacts, *, kind: str = CPU) -> int:
    """Return the tokens of one forward at most; only an encoder's depend on the kind of GPU."""
    if not spec.base_model.is_encoder:
        return min(spec.max_num_tokens, DECODER_STEP_TOKENS)
    longest = effective_sequence_length(spec, checkpoint)
    return min(spec.max_num_tokens, max(encoder_step_tokens(kind), longest))
