"""Whether a loss is within the limits of the config."""

import math

from controlplane.domain.spec.enginehouse_settings import Gate
from workers.build_steps.failures import StepFailure
from workers.build_steps.gating import failures
from workers.build_steps.gating.encoding import EncoderResult
from workers.build_steps.gating.generation import GenerationResult


def of_generation(result: GenerationResult, gate: Gate) -> StepFailure | None:
    """Return the failure of a model whose perplexity rose too far, or None."""
    if result.change <= gate.max_perplexity_increase:
        return None
    return failures.perplexity_rose(
        result.change,
        gate.max_perplexity_increase,
        result.perplexity_original,
        result.perplexity_quantized,
    )


def of_encoder(result: EncoderResult, gate: Gate) -> StepFailure | None:
    """Return the failure of an encoder whose vectors or labels moved too far, or None."""
    limit = gate.max_agreement_loss
    if 1 - result.mean_cosine > limit:
        return failures.agreement_lost("mean cosine", result.mean_cosine, limit)
    agreement = result.label_agreement
    if agreement is None:
        return None
    # Of fewer than a hundred labels a single one is more than one percent: one is let pass.
    if result.labels > 1 and result.differing_labels <= max(1, math.ceil(limit * result.labelled)):
        return None
    if 1 - agreement > limit:
        return failures.agreement_lost("label agreement", agreement, limit)
    return None
