"""Bytes of the weights as a runtime holds them.

Source: TensorRT-LLM 1.2 and ModelOpt 0.47 leave embeddings and head in 16 bits; checked 2026-11-27.
"""

from controlplane.domain.facts.checkpoints import CheckpointFacts, ExistingQuantization
from controlplane.domain.facts.quantization import NVFP4_BYTES, PRECISIONS
from controlplane.domain.spec import Spec

SIXTEEN_BIT_BYTES = 2
FLOAT32_BYTES = 4


def gpu_weight_bytes(spec: Spec, checkpoint: CheckpointFacts) -> int | None:
    """Return the bytes of all weights on GPUs, before they are divided, or None if unknown."""
    if spec.quantization_type.is_none or checkpoint.existing_quantization is not None:
        return _as_stored(checkpoint)
    parameters = checkpoint.parameters
    if parameters is None:
        return None
    precision = PRECISIONS[spec.quantization_type.value]
    quantized = parameters - table_parameters(checkpoint)
    if precision.mlp_only:
        quantized = _mlp_parameters(checkpoint)
    quantized = max(0, min(quantized, parameters))
    kept = parameters - quantized
    return round(kept * SIXTEEN_BIT_BYTES + quantized * precision.weight_bytes)


def cpu_weight_bytes(checkpoint: CheckpointFacts) -> int | None:
    """Return the bytes of the weights in float32, in which the CPU computes fastest."""
    if checkpoint.parameters is not None:
        return checkpoint.parameters * FLOAT32_BYTES
    stored = checkpoint.stored_weight_bytes
    return None if stored is None else round(stored / checkpoint.bytes_per_number * FLOAT32_BYTES)


def table_parameters(checkpoint: CheckpointFacts) -> int:
    """Return the parameters of embedding and head, which quantization leaves alone."""
    table = (checkpoint.vocabulary_size or 0) * (checkpoint.hidden_size or 0)
    return table if checkpoint.tied_embeddings else 2 * table


def _as_stored(checkpoint: CheckpointFacts) -> int | None:
    """Return the stored bytes, but never more than 16 bits a number: GPUs load float32 as that."""
    if checkpoint.existing_quantization is not None:
        return checkpoint.weight_bytes or _prequantized(
            checkpoint, checkpoint.existing_quantization
        )
    stored = checkpoint.stored_weight_bytes
    if stored is None:
        return None
    return round(stored * min(1.0, SIXTEEN_BIT_BYTES / checkpoint.bytes_per_number))


def _prequantized(checkpoint: CheckpointFacts, existing: ExistingQuantization) -> int | None:
    """Return an estimate: `dtype` names the unquantized part only, so count by the method."""
    if checkpoint.parameters is None:
        return None
    tables = min(table_parameters(checkpoint), checkpoint.parameters)
    each = 1.0 if existing.is_fp8 else NVFP4_BYTES
    return round((checkpoint.parameters - tables) * each + tables * SIXTEEN_BIT_BYTES)


def _mlp_parameters(checkpoint: CheckpointFacts) -> int:
    width = checkpoint.moe_intermediate_size if checkpoint.experts else None
    width = width or checkpoint.intermediate_size or 0
    experts = checkpoint.experts or 1
    return 3 * (checkpoint.hidden_size or 0) * width * experts * (checkpoint.layers or 0)
