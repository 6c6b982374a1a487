"""Why a quantized checkpoint does not pass."""

from controlplane.domain.failures import Blame, Failure
from workers.build_steps.failures import StepFailure

_TYPE_FIELD = "trt_llm.build.quantization_type"
_GATE = "enginehouse.gate"


def perplexity_rose(change: float, limit: float, before: float, after: float) -> StepFailure:
    """Return the failure for a model that predicts text worse than the limit allows."""
    return _over(
        "EHG-PERPLEXITY",
        f"Quantization raised the perplexity on held-out text by {change:.1%}, from {before:.2f} "
        f"to {after:.2f}; the limit is {limit:.1%}.",
        f"{_GATE}.max_perplexity_increase",
        "Raise `calib_size` or use a calibration set closer to your traffic; `fp8` instead of an "
        "`_kv` or `fp4` type loses less. To accept the loss, raise the limit or promote anyway.",
    )


def agreement_lost(what: str, value: float, limit: float) -> StepFailure:
    """Return the failure for an encoder whose answers moved."""
    return _over(
        "EHG-AGREEMENT",
        f"After quantization the {what} with the original is {value:.4f} on held-out text; the "
        f"limit is {1 - limit:.4f}.",
        f"{_GATE}.max_agreement_loss",
        "Raise `calib_size` or use a calibration set closer to your traffic; `fp8_mlp_only` loses "
        "less. To accept the loss, raise the limit or promote anyway.",
    )


def missing_scale(name: str) -> StepFailure:
    """Return the failure for quantized numbers that lack what gives them their size."""
    return _broken("EHG-SCALE-MISSING", f"the scale `{name}` is missing from the exported files")


def dropped_kv_scale(name: str) -> StepFailure:
    """Return the failure for a layer whose FP8 cache would run unscaled."""
    return _broken(
        "EHG-KV-SCALE-DROPPED",
        f"hf_quant_config.json promises an FP8 KV cache and the scale `{name}` is missing, with "
        "which engines would silently use 1.0",
    )


def all_ones(kind: str, count: int) -> StepFailure:
    """Return the failure for scales that nobody ever set."""
    return _broken(
        "EHG-SCALES-ONE",
        f"all {count} of the `{kind}` are exactly 1.0, as if calibration had never run",
    )


def broken_scale(name: str, value: float) -> StepFailure:
    """Return the failure for a scale that no number can be multiplied with."""
    return _broken("EHG-SCALE-BROKEN", f"the scale `{name}` is {value}")


def unused_scale(name: str) -> StepFailure:
    """Return the failure for a scale that belongs to nothing in the model."""
    return _broken("EHG-SCALE-UNUSED", f"the scales of `{name}` belong to no layer of the model")


def not_finite(which: str) -> StepFailure:
    """Return the failure for a model that answers with what is no number."""
    return _broken("EHG-NOT-FINITE", f"the {which} model's answers on held-out text are no numbers")


def no_samples(name: str) -> StepFailure:
    """Return the failure for an evaluation set of which nothing is left to measure on."""
    return _over(
        "EHG-NO-SAMPLES",
        f"The evaluation set `{name}` holds no usable text that was not calibrated on.",
        f"{_GATE}.evaluation_dataset",
        "Name another evaluation set, or leave it away: then a part of the calibration set is "
        "held out.",
    )


def _over(code: str, sentence: str, field: str, hint: str) -> StepFailure:
    return StepFailure(
        Failure(code=code, blame=Blame.CONFIGURATION, sentence=sentence, field=field, hint=hint)
    )


def _broken(code: str, what: str) -> StepFailure:
    return StepFailure(
        Failure(
            code=code,
            blame=Blame.OURS,
            sentence=f"The quantized checkpoint is unusable: {what}.",
            field=_TYPE_FIELD,
            hint="Retry; if it persists, build with another quantization type and report this.",
        )
    )
