from controlplane.domain.failures import fields
from controlplane.domain.failures.kind import FailureKind, configuration, machine, ours

_CLOSER_DATA = "Raise `calib_size` or use a calibration set closer to your traffic; "
_LOSE_LESS = f"{_CLOSER_DATA}`fp8` instead of an `_kv` or `fp4` type loses less. "
_ACCEPT = "To accept the loss, {limit} the limit or promote anyway."
_TASKS = f"{fields.GATE}.tasks"
_RAISE, _LOWER = _ACCEPT.format(limit="raise"), _ACCEPT.format(limit="lower")


def _broken(code: str, what: str) -> FailureKind:
    return ours(
        code,
        f"The quantized checkpoint is unusable: {what}.",
        "Retry; if it persists, build with another quantization type and report this.",
        field=fields.QUANTIZATION,
    )


PERPLEXITY = configuration(
    "EHG-PERPLEXITY",
    "Quantization raised the perplexity on held-out text by {change:.1%}, from {before:.2f} to "
    "{after:.2f}; the limit is {limit:.1%}.",
    f"{_LOSE_LESS}{_RAISE}",
    field=f"{fields.GATE}.max_perplexity_increase",
)
DRIFT = configuration(
    "EHG-DRIFT",
    "Quantization moved the distributions on held-out text by {drift:.4f} nats per token; the "
    "limit is {limit:.4f}.",
    f"{_LOSE_LESS}{_RAISE}",
    field=f"{fields.GATE}.max_logit_drift_nats",
)
CHOICE = configuration(
    "EHG-CHOICE",
    "After quantization the model finds the same token likeliest as the original at {share:.1%} of "
    "held-out text; the limit is {limit:.1%}.",
    f"{_LOSE_LESS}{_LOWER}",
    field=f"{fields.GATE}.min_same_choice",
)
AGREEMENT = configuration(
    "EHG-AGREEMENT",
    "After quantization the {what} with the original is {value:.4f} on held-out text; the limit is "
    "{limit:.4f}.",
    f"{_CLOSER_DATA}`fp8_mlp_only` loses less. {_RAISE}",
    field=f"{fields.GATE}.max_agreement_loss",
)
NO_SAMPLES = configuration(
    "EHG-NO-SAMPLES",
    "The evaluation set `{name}` holds no usable text that was not calibrated on.",
    "Name another evaluation set, or leave it unset: then a part of the calibration set is held "
    "out.",
    field=f"{fields.GATE}.evaluation_dataset",
)
TASK_LOSS = configuration(
    "EHG-TASK-LOSS",
    "Quantization took `{metric}` of the task `{task}` from {before:.4f} to {after:.4f} on "
    "{questions:,} questions; the limit is a loss of {limit}.",
    f"{_LOSE_LESS}Fewer questions make one of them count more. {_RAISE}",
    field=_TASKS,
)
HARNESS = machine(
    "EHG-HARNESS",
    "`enginehouse.gate.tasks` is done with lm-eval, which this build worker does not have.",
    "On the build worker: `pip install 'enginehouse[gate-tasks]'`, then retry; or remove the "
    "tasks.",
    field=_TASKS,
)
TASK_UNKNOWN = configuration(
    "EHG-TASK-UNKNOWN",
    "There is no task `{task}` in lm-eval {version}{meant}.",
    "`lm_eval ls tasks` lists what it has. A task of your own needs `dataset` and `definition`.",
    field=_TASKS,
)
TASK_DATA = machine(
    "EHG-TASK-DATA",
    "The questions of the task `{task}` could not be read, and no others are asked in their "
    "place: {reason}.",
    "Check the network and HF_ENDPOINT, then retry. Offline, name rows of your own: `dataset` with "
    "a set of the team or a .jsonl file, and a `definition`.",
    field=_TASKS,
)
TASK_ROWS = configuration(
    "EHG-TASK-ROWS",
    "`{dataset}` of the task `{task}` cannot be asked from: {reason}.",
    "Name a .jsonl file with one object per line, in a folder of LOCAL_CHECKPOINT_ROOTS or "
    "uploaded as a set of the team.",
    field=_TASKS,
)
TASK_BROKEN = configuration(
    "EHG-TASK-BROKEN",
    "The task `{task}` cannot be done by lm-eval: {reason}.",
    "Compare `definition` with the columns of its rows; of a task of lm-eval, name another one.",
    field=_TASKS,
)
TASK_METRIC = configuration(
    "EHG-TASK-METRIC",
    "The task `{task}` has no figure `{metric}`; it has {known}.",
    "Set `metric` to one of them. Of a group that has none, name its tasks.",
    field=_TASKS,
)
SCALE_MISSING = _broken(
    "EHG-SCALE-MISSING", "the scale `{name}` is missing from the exported files{asked}"
)
KV_SCALE_DROPPED = _broken(
    "EHG-KV-SCALE-DROPPED",
    "hf_quant_config.json promises an FP8 KV cache and the scale `{name}` is missing, with which "
    "engines would silently use 1.0{asked}",
)
SCALES_ONE = _broken(
    "EHG-SCALES-ONE",
    "all {count} of the `{kind}` are exactly 1.0, as if calibration had never run",
)
SCALE_BROKEN = _broken("EHG-SCALE-BROKEN", "the scale `{name}` is {value}{asked}")
SCALE_SHAPE = _broken(
    "EHG-SCALE-BROKEN", "the scale `{name}` has the shape {shape} instead of {expected}"
)
SCALE_FOREIGN = _broken(
    "EHG-SCALE-FOREIGN",
    "the scale `{name}`{where} is {times:.3g} times what the original weight asks for, whose "
    "largest value is {largest:.4g}",
)
SCALE_UNCALIBRATED = _broken("EHG-SCALE-FOREIGN", "the scale `{name}` is {value:.6g}{asked}")
SCALE_UNMEASURED = _broken(
    "EHG-SCALE-UNUSED",
    "the scale `{name}` is {value:.6g}, and calibration measured nothing that it is for",
)
SCALE_UNUSED = _broken("EHG-SCALE-UNUSED", "the scales of `{name}` belong to no layer of the model")
WEIGHT_FOREIGN = _broken("EHG-WEIGHT-FOREIGN", "`{name}` {found} where the original has {expected}")
DECLARATION = _broken("EHG-DECLARATION", "`{name}` of {file} is {found}, and {held}")
NOT_DECLARED = _broken(
    "EHG-DECLARATION",
    "`{module}` is not quantized, and `exclude_modules` of hf_quant_config.json does not name it",
)
NOT_READABLE = _broken("EHG-DECLARATION", "{reason}")
DESCRIPTION = _broken(
    "EHG-DESCRIPTION", "`{name}` of {file} is {found}, and {expected} in the original"
)
OTHER_FILE = _broken("EHG-DESCRIPTION", "`{file}` {reason}")
TENSOR_UNKNOWN = _broken("EHG-TENSOR-UNKNOWN", "`{name}` is no tensor of the original or its class")
INCOMPLETE = _broken("EHG-INCOMPLETE", "{reason}")
NOT_FINITE = _broken(
    "EHG-NOT-FINITE", "the {which} model's answers on held-out text are no numbers"
)
