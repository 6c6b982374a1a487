"""What reading calibration text can fail with; each says what else to name."""

from collections.abc import Sequence

from controlplane.domain.failures.registry import calibration
from controlplane.sources.bearer import NO_TOKEN
from workers.build_steps.failures import StepFailure

_SHOWN_NAMES = 8
_SHOWN_LETTERS = 19
"""Of a digest, its kind included."""


def refused(name: str, endpoint: str, *, has_token: bool) -> StepFailure:
    sent = "the token of this config" if has_token else "a request without a token"
    return StepFailure.of(calibration.GATED, name=name, endpoint=endpoint, sent=sent)


def no_token(name: str) -> StepFailure:
    return StepFailure.of(calibration.NO_TOKEN, name=name, reason=NO_TOKEN)


def no_train_split(name: str, files: Sequence[str]) -> StepFailure:
    return StepFailure.of(calibration.NO_TRAIN, name=name, found=_listed(files))


def which_config(name: str, configs: Sequence[str]) -> StepFailure:
    example = f"{name.partition(':')[0]}:{configs[0]}"
    return StepFailure.of(calibration.CONFIG, name=name, configs=_listed(configs), example=example)


def no_column(name: str, columns: Sequence[str]) -> StepFailure:
    return StepFailure.of(calibration.COLUMN, name=name, columns=_listed(columns))


def no_answers(name: str, columns: Sequence[str]) -> StepFailure:
    return StepFailure.of(calibration.NO_ANSWERS, name=name, columns=_listed(columns))


def outside_roots(name: str, roots: Sequence[str]) -> StepFailure:
    opened = _listed(roots) if roots else "none"
    return StepFailure.of(calibration.OUTSIDE_ROOTS, name=name, opened=opened)


def changed(name: str, expected: str, actual: str) -> StepFailure:
    return StepFailure.of(
        calibration.CHANGED,
        name=name,
        expected=expected[:_SHOWN_LETTERS],
        found=actual[:_SHOWN_LETTERS],
    )


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(f"`{name}`" for name in names[:_SHOWN_NAMES])
    more = len(names) - _SHOWN_NAMES
    return (f"{shown} and {more} more" if more > 0 else shown) or "nothing"
