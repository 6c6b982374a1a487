"""What the step `gate` leaves: what quantization cost, beside what it may cost."""

from controlplane.domain.record import Record


class GateLimits(Record):
    """Those of a build; an older one has only some of them."""

    max_perplexity_increase: float | None = None
    max_logit_drift_nats: float | None = None
    min_same_choice: float | None = None
    max_agreement_loss: float | None = None


class GateFigures(Record):
    """Of a generator or of an encoder; a figure that was not finite is None."""

    perplexity_original: float | None = None
    perplexity_quantized: float | None = None
    perplexity_change: float | None = None
    logit_drift_nats: float | None = None
    same_choice: float | None = None
    mean_cosine: float | None = None
    label_agreement: float | None = None


class GateTask(Record):
    """A task of lm-eval, done by both models."""

    task: str
    metric: str
    questions: int
    original: float
    quantized: float
    higher_is_better: bool
    max_loss: float | None = None
    max_loss_share: float | None = None


class LostSample(Record):
    """One of those that lost most."""

    tokens: int
    text: str
    cosine: float | None = None
    """Of an encoder."""
    perplexity_ratio: float | None = None


class MeasuredOn(Record):
    dataset: str
    samples: int
    held_out: bool = False


class GateResult(Record):
    state: str
    """`passed`, `failed` or `unmeasured`."""
    reason: str | None = None
    """Why nothing was measured."""
    kind: str | None = None
    """`generation` or `encoder`, where something was."""
    measured_by: str = ""
    runs_here: bool | None = None
    note: str | None = None
    compute_dtype: str | None = None
    adapters_left_out: tuple[str, ...] = ()
    limits: GateLimits | None = None
    figures: GateFigures | None = None
    tasks: tuple[GateTask, ...] = ()
    worst: tuple[LostSample, ...] = ()
    evaluation: MeasuredOn | None = None
