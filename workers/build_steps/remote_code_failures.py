from collections.abc import Sequence

from controlplane.domain import remote_code
from controlplane.domain.failures.registry import quantization
from controlplane.domain.failures.registry import remote_code as kinds
from workers.build_steps.failures import StepFailure

_DETAIL_LETTERS = 1000


def refusal(commit: str, grants: remote_code.CodeGrants, architecture: str | None) -> StepFailure:
    return StepFailure(remote_code.refusal(commit, grants, architecture))


def no_class(named: Sequence[str], known: Sequence[str]) -> StepFailure:
    given = ", ".join(f"`{each}`" for each in named) or "nothing"
    return StepFailure.of(quantization.NO_CLASS, named=given, known=", ".join(known))


def not_run(what: str, error: Exception) -> StepFailure:
    detail = str(error)[:_DETAIL_LETTERS] or None
    return StepFailure.of(kinds.BROKEN, what=what, error=type(error).__name__, detail=detail)
