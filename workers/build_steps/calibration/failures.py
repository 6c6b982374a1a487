"""What reading calibration text can fail with; each says what else to name."""

from collections.abc import Sequence

from controlplane.domain.failures.registry import calibration
from controlplane.sources.bearer import NO_TOKEN
from workers.build_steps.failures import StepFailure, step_failure

_SHOWN_NAMES = 8
_SHOWN_LETTERS = 19
"""Of a digest, its kind included."""


def offline(name: str, endpoint: str, detail: str) -> StepFailure:
    return step_failure(calibration.OFFLINE, name=name, endpoint=endpoint, detail=detail)


def unavailable(name: str, endpoint: str, status: int) -> StepFailure:
    return step_failure(calibration.UNAVAILABLE, name=name, endpoint=endpoint, status=status)


def broken_off(name: str, path: str) -> StepFailure:
    return step_failure(calibration.BROKEN, name=name, file=path)


def not_found(name: str, endpoint: str) -> StepFailure:
    return step_failure(calibration.NOT_FOUND, name=name, endpoint=endpoint)


def missing_revision(name: str, revision: str) -> StepFailure:
    return step_failure(calibration.REVISION, name=name, revision=revision)


def refused(name: str, endpoint: str, *, has_token: bool) -> StepFailure:
    sent = "the token of this config" if has_token else "a request without a token"
    return step_failure(calibration.GATED, name=name, endpoint=endpoint, sent=sent)


def no_token(name: str) -> StepFailure:
    return step_failure(calibration.NO_TOKEN, name=name, reason=NO_TOKEN)


def no_train_split(name: str, found: Sequence[str]) -> StepFailure:
    return step_failure(calibration.NO_TRAIN, name=name, found=_listed(found))


def which_config(name: str, configs: Sequence[str]) -> StepFailure:
    """Return the failure for a data set of several configs, none of them named rightly."""
    example = f"{name.partition(':')[0]}:{configs[0]}"
    return step_failure(calibration.CONFIG, name=name, configs=_listed(configs), example=example)


def no_column(name: str, columns: Sequence[str]) -> StepFailure:
    return step_failure(calibration.COLUMN, name=name, columns=_listed(columns))


def no_answers(name: str, columns: Sequence[str]) -> StepFailure:
    """Return the failure for rows that do not tell what was asked from what was answered."""
    return step_failure(calibration.NO_ANSWERS, name=name, columns=_listed(columns))


def nothing_answered(name: str) -> StepFailure:
    """Return the failure for a set without a single answer of two tokens."""
    return step_failure(calibration.NOTHING_ANSWERED, name=name)


def no_template(name: str, column: str) -> StepFailure:
    return step_failure(calibration.NO_TEMPLATE, name=name, column=column)


def odd_pair(name: str, row: int, reason: str) -> StepFailure:
    """Return the failure for a question without an answer, or one that is no text."""
    return step_failure(calibration.PAIR, name=name, row=row, reason=reason)


def template_failed(name: str, row: int, reason: str) -> StepFailure:
    return step_failure(calibration.TEMPLATE, name=name, row=row, reason=reason)


def bad_row(name: str, path: str, line: int, reason: str) -> StepFailure:
    return step_failure(calibration.ROW, name=name, file=path, line=line, reason=reason)


def bad_file(name: str, path: str, reason: str) -> StepFailure:
    return step_failure(calibration.FILE, name=name, file=path, reason=reason)


def too_few(name: str, used: int, needed: int, counted: str) -> StepFailure:
    return step_failure(calibration.TOO_FEW, name=name, used=used, needed=needed, counted=counted)


def unreadable_name(name: str) -> StepFailure:
    return step_failure(calibration.NAME, name=name)


def no_kept_set(name: str) -> StepFailure:
    return step_failure(calibration.NO_SET, name=name)


def outside_roots(name: str, roots: Sequence[str]) -> StepFailure:
    opened = _listed(roots) if roots else "none"
    return step_failure(calibration.OUTSIDE_ROOTS, name=name, opened=opened)


def missing_file(name: str) -> StepFailure:
    return step_failure(calibration.MISSING, name=name)


def changed(name: str, expected: str, found: str) -> StepFailure:
    return step_failure(
        calibration.CHANGED,
        name=name,
        expected=expected[:_SHOWN_LETTERS],
        found=found[:_SHOWN_LETTERS],
    )


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(f"`{name}`" for name in names[:_SHOWN_NAMES])
    more = len(names) - _SHOWN_NAMES
    return (f"{shown} and {more} more" if more > 0 else shown) or "nothing"
