"""Why a quantized checkpoint does not pass."""

import json
from collections.abc import Sequence

from controlplane.domain.failures import Blame, Failure
from workers.build_steps.failures import StepFailure

_TYPE_FIELD = "trt_llm.build.quantization_type"
_GATE = "enginehouse.gate"
_SHOWN_LETTERS = 80
_LOSE_LESS = (
    "Raise `calib_size` or use a calibration set closer to your traffic; `fp8` instead of an "
    "`_kv` or `fp4` type loses less. To accept the loss, raise the limit or promote anyway."
)


def perplexity_rose(change: float, limit: float, before: float, after: float) -> StepFailure:
    """Return the failure for a model that predicts text worse than the limit allows."""
    return _over(
        "EHG-PERPLEXITY",
        f"Quantization raised the perplexity on held-out text by {change:.1%}, from {before:.2f} "
        f"to {after:.2f}; the limit is {limit:.1%}.",
        f"{_GATE}.max_perplexity_increase",
        _LOSE_LESS,
    )


def drifted(drift: float, limit: float) -> StepFailure:
    """Return the failure for a model whose expectations moved."""
    return _over(
        "EHG-DRIFT",
        f"Quantization moved the distributions on held-out text by {drift:.4f} nats per token; "
        f"the limit is {limit:.4f}.",
        f"{_GATE}.max_logit_drift_nats",
        _LOSE_LESS,
    )


def chose_otherwise(share: float, limit: float) -> StepFailure:
    """Return the failure for a model that would often say something else."""
    return _over(
        "EHG-CHOICE",
        "After quantization the model finds the same token likeliest as the original at "
        f"{share:.1%} of held-out text; the limit is {limit:.1%}.",
        f"{_GATE}.min_same_choice",
        _LOSE_LESS.replace("raise the limit", "lower the limit"),
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


def missing_scale(name: str, expected: float | None = None) -> StepFailure:
    """Return the failure for quantized numbers that lack what gives them their size."""
    what = f"the scale `{name}` is missing from the exported files"
    return _broken("EHG-SCALE-MISSING", what + _asked(expected))


def dropped_kv_scale(name: str, expected: float | None = None) -> StepFailure:
    """Return the failure for a layer whose FP8 cache would run unscaled."""
    return _broken(
        "EHG-KV-SCALE-DROPPED",
        f"hf_quant_config.json promises an FP8 KV cache and the scale `{name}` is missing, with "
        f"which engines would silently use 1.0{_asked(expected)}",
    )


def all_ones(kind: str, count: int) -> StepFailure:
    """Return the failure for scales that nobody ever set."""
    return _broken(
        "EHG-SCALES-ONE",
        f"all {count} of the `{kind}` are exactly 1.0, as if calibration had never run",
    )


def broken_scale(name: str, value: float, expected: float | None = None) -> StepFailure:
    """Return the failure for a scale that no number can be multiplied with."""
    return _broken("EHG-SCALE-BROKEN", f"the scale `{name}` is {value}{_asked(expected)}")


def uncalibrated_scale(name: str, value: float, expected: float) -> StepFailure:
    """Return the failure for a scale of an input, of keys or values that is another's."""
    return _broken("EHG-SCALE-FOREIGN", f"the scale `{name}` is {value:.6g}{_asked(expected)}")


def unmeasured_scale(name: str, value: float) -> StepFailure:
    """Return the failure for a scale of something that calibration did not look at."""
    return _broken(
        "EHG-SCALE-UNUSED",
        f"the scale `{name}` is {value:.6g}, and calibration measured nothing that it is for",
    )


def unused_scale(name: str) -> StepFailure:
    """Return the failure for a scale that belongs to nothing in the model."""
    return _broken("EHG-SCALE-UNUSED", f"the scales of `{name}` belong to no layer of the model")


def misshapen_scale(name: str, shape: Sequence[int], expected: Sequence[int]) -> StepFailure:
    """Return the failure for scales that are not as many as their weight needs."""
    what = f"the scale `{name}` has the shape {list(shape)} instead of {list(expected)}"
    return _broken("EHG-SCALE-BROKEN", what)


def foreign_scale(name: str, times: float, largest: float, *, block: str = "") -> StepFailure:
    """Return the failure for a scale that is not what the original weight asks for."""
    where = f" ({block})" if block else ""
    return _broken(
        "EHG-SCALE-FOREIGN",
        f"the scale `{name}`{where} is {times:.3g} times what the original weight asks for, whose "
        f"largest value is {largest:.4g}",
    )


def foreign_weight(name: str, found: str, expected: object) -> StepFailure:
    """Return the failure for quantized numbers that are not the rounded ones of the original."""
    if not isinstance(expected, str):
        expected = list(expected) if isinstance(expected, Sequence) else expected
    return _broken("EHG-WEIGHT-FOREIGN", f"`{name}` {found} where the original has {expected}")


def declared_otherwise(file: str, name: str, found: object, held: str) -> StepFailure:
    """Return the failure for files that say of themselves what they do not hold."""
    return _broken(
        "EHG-DECLARATION", f"`{name}` of {file} is {_cut(json.dumps(found))}, and {held}"
    )


def described_otherwise(file: str, name: str, found: str, expected: str) -> StepFailure:
    """Return the failure for a setting that quantization has no reason to change."""
    return _broken(
        "EHG-DESCRIPTION",
        f"`{name}` of {file} is {_cut(found)}, and {_cut(expected)} in the original",
    )


def other_file(path: str, reason: str) -> StepFailure:
    """Return the failure for a file that a runtime reads and that is not the original's."""
    return _broken("EHG-DESCRIPTION", f"`{path}` {reason}")


def unread_tensor(name: str) -> StepFailure:
    """Return the failure for a tensor that neither the original nor its class knows."""
    return _broken("EHG-TENSOR-UNKNOWN", f"`{name}` is no tensor of the original or its class")


def not_declared(module: str) -> StepFailure:
    """Return the failure for a layer in 16 bits that an engine would read as quantized."""
    return _broken(
        "EHG-DECLARATION",
        f"`{module}` is not quantized, and `exclude_modules` of hf_quant_config.json does not "
        "name it",
    )


def not_readable(reason: str) -> StepFailure:
    """Return the failure for a declaration that our own engine cannot read."""
    return _broken("EHG-DECLARATION", reason.removesuffix("."))


def not_whole(reason: str) -> StepFailure:
    """Return the failure for an export that the original's class, which loaded that, refuses."""
    return _broken("EHG-INCOMPLETE", reason.removesuffix("."))


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


def _cut(said: str) -> str:
    return said if len(said) <= _SHOWN_LETTERS else f"{said[:_SHOWN_LETTERS]}…"


def _asked(expected: float | None) -> str:
    if expected is None:
        return ""
    return f"; the largest value that calibration saw there asks for {expected:.6g}"


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
