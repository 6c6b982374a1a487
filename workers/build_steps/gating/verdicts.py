import math
from collections.abc import Iterable
from dataclasses import dataclass

from controlplane.domain.spec.enginehouse_settings import Gate
from workers.build_steps.failures import StepFailure
from workers.build_steps.gating import failures
from workers.build_steps.gating.encoding import EncoderResult
from workers.build_steps.gating.generation import GenerationResult
from workers.build_steps.gating.tasks.results import TaskResult


@dataclass(frozen=True, kw_only=True)
class Verdict:
    failure: StepFailure | None = None
    reason: str = ""
    """Why they say nothing; empty where they do."""

    @property
    def state(self) -> str:
        """`passed`, `failed` or `unmeasured`."""
        if self.reason:
            return "unmeasured"
        return "failed" if self.failure else "passed"


def why_unmeasured(result: GenerationResult, repository: str) -> str:
    return (
        f"The checkpoint `{repository}` itself is not clearly better at predicting the text than "
        f"guessing: its perplexity is {result.perplexity_original:,.0f}, and that of a guess by "
        f"how often each token occurs is {result.perplexity_guessed:,.0f}. What quantization cost "
        "cannot be told from it. Check that it is trained and whole, and that the text is of its "
        "kind."
    )


def of_generation(result: GenerationResult, gate: Gate) -> StepFailure | None:
    """Return the failure of a model that lost or moved too far, or None.

    A better perplexity alone says little: a model may be luckier and answer otherwise.
    """
    if result.change > gate.max_perplexity_increase:
        return failures.perplexity_rose(
            result.change,
            gate.max_perplexity_increase,
            result.perplexity_original,
            result.perplexity_quantized,
        )
    if result.drift > gate.max_logit_drift_nats:
        return failures.drifted(result.drift, gate.max_logit_drift_nats)
    if result.same_choice < gate.min_same_choice:
        return failures.chose_otherwise(result.same_choice, gate.min_same_choice)
    return None


def of_tasks(done: Iterable[TaskResult]) -> StepFailure | None:
    return next((failure for each in done if (failure := each.failure())), None)


def of_encoder(result: EncoderResult, gate: Gate) -> StepFailure | None:
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
