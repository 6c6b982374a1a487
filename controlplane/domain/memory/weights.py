"""Bytes of the weights as a runtime holds them.

Source: TensorRT-LLM 1.2 and ModelOpt 0.47 leave embeddings and head in 16 bits; checked 2026-11-27.
"""

from dataclasses import dataclass

from controlplane.domain.facts.architectures import has_language_head
from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.facts.matrices import excluded_parameters, tower_parameters
from controlplane.domain.memory.parallelism import Parallelism
from controlplane.domain.spec import Spec

SIXTEEN_BIT_BYTES = 2
FLOAT32_BYTES = 4


@dataclass(frozen=True, kw_only=True)
class Weights:
    total_bytes: int
    quantized_bytes: int = 0
    experts_bytes: int = 0
    """The routed experts' part of the total."""

    def per_device(self, parallelism: Parallelism, experts: int | None) -> int:
        """Return what the fullest GPU holds."""
        shared = self.total_bytes - self.experts_bytes
        routed = self.experts_bytes * parallelism.experts_share(experts or 0)
        return -(-shared // parallelism.devices) + -int(-routed // parallelism.pipeline)


def gpu_weights(
    spec: Spec, checkpoint: CheckpointFacts, *, keeps_draft: bool = False
) -> Weights | None:
    """Return the weights on GPUs, or None if unknown; prediction layers only where asked for."""
    if spec.quantization_type.is_none or checkpoint.existing_quantization is not None:
        stored = _as_stored(checkpoint, keeps_draft=keeps_draft)
        if stored is None:
            return None
        quantized = stored if checkpoint.existing_quantization is not None else 0
        return Weights(
            total_bytes=stored, quantized_bytes=quantized,
            experts_bytes=round(stored * _experts_share(checkpoint)),
        )  # fmt: skip
    parameters = checkpoint.parameters
    if parameters is None:
        return None
    precision = spec.quantization_type.precision
    quantized = parameters - table_parameters(checkpoint) - _tower(checkpoint)
    if precision.mlp_only:
        quantized = _mlp_parameters(checkpoint)
    if spec.bit_budget is None:  # which counts those with 16 bits
        quantized -= _excluded(spec, checkpoint)
    quantized = max(0, min(quantized, parameters))
    kept = parameters - quantized
    experts = checkpoint.counts.experts if checkpoint.counts else 0
    return Weights(
        total_bytes=round(kept * SIXTEEN_BIT_BYTES + quantized * spec.weight_bytes),
        quantized_bytes=round(quantized * spec.weight_bytes),
        experts_bytes=round(min(experts, quantized) * spec.weight_bytes),
    )


def _excluded(spec: Spec, checkpoint: CheckpointFacts) -> int:
    patterns = spec.engine_build.quantization_config.exclude_modules
    mlp_only = spec.quantization_type.precision.mlp_only
    return excluded_parameters(checkpoint.matrices, patterns, mlp_only=mlp_only) if patterns else 0


def expanded_weight_bytes(checkpoint: CheckpointFacts, *, number_bytes: int) -> int | None:
    """Return the bytes of the weights in the type that the native engine computes in.

    Quantized ones are expanded as they are loaded.
    """
    if checkpoint.parameters is not None:
        return checkpoint.parameters * number_bytes
    stored, existing = checkpoint.stored_weight_bytes, checkpoint.existing_quantization
    width = existing.bytes_per_weight if existing else checkpoint.bytes_per_number
    return None if stored is None else round(stored / width * number_bytes)


def table_parameters(checkpoint: CheckpointFacts) -> int:
    """Return the parameters of embedding and head, which quantization leaves alone."""
    if checkpoint.counts is not None:
        return checkpoint.counts.tables
    table = (checkpoint.vocabulary_size or 0) * (checkpoint.hidden_size or 0)
    is_one = checkpoint.tied_embeddings or not has_language_head(checkpoint.architecture)
    return table if is_one else 2 * table


def _as_stored(checkpoint: CheckpointFacts, *, keeps_draft: bool) -> int | None:
    """Return the stored bytes, but never more than 16 bits a number: GPUs load float32 as that."""
    if checkpoint.existing_quantization is not None:
        stored, limit = checkpoint.stored_weight_bytes, 1.0
    else:
        stored = checkpoint.stored_weight_bytes
        limit = min(1.0, SIXTEEN_BIT_BYTES / checkpoint.bytes_per_number)
    if stored is None:
        return None
    drafts = 0.0 if keeps_draft else _draft_share(checkpoint)
    return round(stored * limit * (1 - drafts))


def _draft_share(checkpoint: CheckpointFacts) -> float:
    """Return the share of the weight files that are prediction layers, which are left unloaded."""
    counts = checkpoint.counts
    if not counts or not counts.draft or checkpoint.weight_bytes is None:
        return 0.0
    counted = checkpoint.counted_weight_bytes or 0
    if checkpoint.weight_bytes < counted * (1 + counts.draft / counts.total / 2):
        return 0.0
    return counts.draft / (counts.total + counts.draft)


def _experts_share(checkpoint: CheckpointFacts) -> float:
    counts = checkpoint.counts
    return counts.experts / counts.total if counts and counts.total else 0.0


def _tower(checkpoint: CheckpointFacts) -> int:
    """Return the parameters of what reads images, by the headers where they were read."""
    counted = checkpoint.counts.vision if checkpoint.counts else 0
    return tower_parameters(checkpoint.matrices) or counted


def _mlp_parameters(checkpoint: CheckpointFacts) -> int:
    if checkpoint.counts is not None:
        return checkpoint.counts.mlp + checkpoint.counts.experts
    width = checkpoint.moe_intermediate_size if checkpoint.experts else None
    width = width or checkpoint.intermediate_size or 0
    experts = checkpoint.experts or 1
    return 3 * (checkpoint.hidden_size or 0) * width * experts * (checkpoint.layers or 0)
