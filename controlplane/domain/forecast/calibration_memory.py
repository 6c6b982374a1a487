"""Host memory of the steps that hold a model, by arithmetic; the steps themselves ask it too.

SmolLM2-135M in FP8 on a CPU that computes in bfloat16 held 1.12 GB in calibration and 1.24 GB in
the gate, where this says 1.2 GB without a batch and 2.1 GB with one; measured 2026-11-28.
"""

from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.memory.bit_search import bit_search_bytes
from controlplane.domain.memory.weights import SIXTEEN_BIT_BYTES
from controlplane.domain.spec import Spec

PYTHON_BYTES = 800_000_000
"""What Python, torch, Transformers and ModelOpt take before any model."""
EXPORT_SHARE = 0.6
"""Bytes of the exported copy per byte of a 16-bit model: half for FP8, and what stays 16-bit."""
CPU_BATCH_TOKENS = 2_048
"""Of one forward pass; a CPU gains nothing from more."""


def calibration_bytes(
    spec: Spec, facts: CheckpointFacts, *, number_bytes: int, batch_tokens: int
) -> int:
    """Return what searching, calibrating and exporting takes on the host, a model at a time."""
    exported = round(EXPORT_SHARE * model_bytes(facts, SIXTEEN_BIT_BYTES))
    calibrating = exported + activation_bytes(spec, facts, batch_tokens=batch_tokens)
    searching = bit_search_bytes(spec, facts, number_bytes=number_bytes)
    return PYTHON_BYTES + model_bytes(facts, number_bytes) + max(calibrating, searching)


def comparison_bytes(
    spec: Spec, facts: CheckpointFacts, *, number_bytes: int, batch_tokens: int
) -> int:
    """Return what one model and its logits take; the gate holds one model at a time."""
    # The exported tensors and their plain form exist at the same time while loading.
    model = round(model_bytes(facts, number_bytes) * (1 + EXPORT_SHARE))
    return PYTHON_BYTES + model + activation_bytes(spec, facts, batch_tokens=batch_tokens)


def model_bytes(facts: CheckpointFacts, number_bytes: int) -> int:
    if facts.parameters is None:
        return facts.stored_weight_bytes or 0
    return facts.parameters * number_bytes


def activation_bytes(spec: Spec, facts: CheckpointFacts, *, batch_tokens: int) -> int:
    """Return the bytes of one batch: logits in float32 twice, and the widest layer a few times."""
    logits = 2 * 4 * (0 if spec.base_model.is_encoder else facts.vocabulary_size or 0)
    widest = 4 * 6 * max(facts.intermediate_size or 0, facts.hidden_size or 0)
    return batch_tokens * (logits + widest)
