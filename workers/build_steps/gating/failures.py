import json
from collections.abc import Sequence

from controlplane.domain.failures.registry import gate
from workers.build_steps.failures import StepFailure

_SHOWN_LETTERS = 80


def perplexity_rose(change: float, limit: float, before: float, after: float) -> StepFailure:
    return StepFailure.of(gate.PERPLEXITY, change=change, limit=limit, before=before, after=after)


def drifted(drift: float, limit: float) -> StepFailure:
    return StepFailure.of(gate.DRIFT, drift=drift, limit=limit)


def chose_otherwise(share: float, limit: float) -> StepFailure:
    return StepFailure.of(gate.CHOICE, share=share, limit=limit)


def agreement_lost(what: str, value: float, limit: float) -> StepFailure:
    return StepFailure.of(gate.AGREEMENT, what=what, value=value, limit=1 - limit)


def task_lost(
    task: str, metric: str, *, before: float, after: float, questions: int, limit: str
) -> StepFailure:
    return StepFailure.of(
        gate.TASK_LOSS, task=task, metric=metric, before=before, after=after,
        questions=questions, limit=limit,
    )  # fmt: skip


def unknown_task(task: str, version: str, close: str | None) -> StepFailure:
    meant = f"; `{close}` was probably meant" if close else ""
    return StepFailure.of(gate.TASK_UNKNOWN, task=task, version=version, meant=meant)


def no_questions(task: str, reason: str) -> StepFailure:
    return StepFailure.of(gate.TASK_DATA, task=task, reason=reason.rstrip("."))


def bad_rows(task: str, dataset: str, reason: str) -> StepFailure:
    return StepFailure.of(gate.TASK_ROWS, task=task, dataset=dataset, reason=reason.rstrip("."))


def broken_task(task: str, reason: str) -> StepFailure:
    return StepFailure.of(gate.TASK_BROKEN, task=task, reason=reason.rstrip("."))


def no_metric(task: str, metric: str | None, known: Sequence[str]) -> StepFailure:
    listed = ", ".join(f"`{each}`" for each in known) or "none"
    return StepFailure.of(gate.TASK_METRIC, task=task, metric=metric or "", known=listed)


def missing_scale(name: str, expected: float | None = None) -> StepFailure:
    return StepFailure.of(gate.SCALE_MISSING, name=name, asked=_expected_words(expected))


def dropped_kv_scale(name: str, expected: float | None = None) -> StepFailure:
    return StepFailure.of(gate.KV_SCALE_DROPPED, name=name, asked=_expected_words(expected))


def broken_scale(name: str, value: float, expected: float | None = None) -> StepFailure:
    return StepFailure.of(
        gate.SCALE_BROKEN, name=name, value=value, asked=_expected_words(expected)
    )


def uncalibrated_scale(name: str, value: float, expected: float) -> StepFailure:
    return StepFailure.of(
        gate.SCALE_UNCALIBRATED, name=name, value=value, asked=_expected_words(expected)
    )


def unmeasured_scale(name: str, value: float) -> StepFailure:
    return StepFailure.of(gate.SCALE_UNMEASURED, name=name, value=value)


def misshapen_scale(name: str, shape: Sequence[int], expected: Sequence[int]) -> StepFailure:
    return StepFailure.of(gate.SCALE_SHAPE, name=name, shape=list(shape), expected=list(expected))


def foreign_scale(name: str, times: float, largest: float, *, block: str = "") -> StepFailure:
    where = f" ({block})" if block else ""
    return StepFailure.of(gate.SCALE_FOREIGN, name=name, where=where, times=times, largest=largest)


def foreign_weight(name: str, actual: str, expected: object) -> StepFailure:
    if isinstance(expected, Sequence) and not isinstance(expected, str):
        expected = list(expected)
    return StepFailure.of(gate.WEIGHT_FOREIGN, name=name, found=actual, expected=expected)


def declared_otherwise(file: str, name: str, declared: object, made_with: str) -> StepFailure:
    """Return the failure for files that say of themselves what they do not hold."""
    shown = _cut(json.dumps(declared))
    return StepFailure.of(gate.DECLARATION, file=file, name=name, found=shown, held=made_with)


def described_otherwise(file: str, name: str, actual: str, expected: str) -> StepFailure:
    """Return the failure for a setting that quantization has no reason to change."""
    return StepFailure.of(
        gate.DESCRIPTION, file=file, name=name, found=_cut(actual), expected=_cut(expected)
    )


def not_readable(reason: str) -> StepFailure:
    return StepFailure.of(gate.NOT_READABLE, reason=reason.removesuffix("."))


def not_whole(reason: str) -> StepFailure:
    """Return the failure for an export that the original's class, which loaded that, refuses."""
    return StepFailure.of(gate.INCOMPLETE, reason=reason.removesuffix("."))


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN_LETTERS else f"{text[:_SHOWN_LETTERS]}…"


def _expected_words(expected: float | None) -> str:
    if expected is None:
        return ""
    return f"; the largest value that calibration saw there asks for {expected:.6g}"
