"""What a checkpoint that brings its own Python can fail with."""

from collections.abc import Sequence

from controlplane.domain import remote_code
from workers.build_steps.failures import StepFailure, of_checkpoint

_DETAIL_LETTERS = 1000


def refusal(commit: str, grants: remote_code.CodeGrants, architecture: str | None) -> StepFailure:
    """Return the failure of code that nobody lets run at this commit."""
    return StepFailure(remote_code.refusal(commit, grants, architecture))


def native_runs_none(architecture: str | None) -> StepFailure:
    """Return the failure for an engine that executes nothing of a checkpoint, granted or not."""
    return of_checkpoint(
        "EHQ-REMOTE-CODE-NATIVE",
        f"`{architecture}` is defined by Python code inside the checkpoint, and the native engine "
        "executes nothing from a checkpoint, whatever is granted.",
        hint="Serve it with vLLM: name an accelerator, or `enginehouse.runtime: vllm`.",
        field="enginehouse.runtime",
    )


def elsewhere(repo: str) -> StepFailure:
    """Return the failure for classes that the checkpoint takes from another repository."""
    return of_checkpoint(
        "EHQ-REMOTE-CODE-ELSEWHERE",
        f"The checkpoint takes its Python code from another repository, `{repo}`, and a grant "
        "covers the code of its own commit only.",
        hint="Copy that code into the checkpoint's own repository, and name it in `auto_map`.",
    )


def no_class(named: Sequence[str], known: Sequence[str]) -> StepFailure:
    """Return the failure for an `auto_map` without a class that a build can load."""
    given = ", ".join(f"`{each}`" for each in named) or "nothing"
    return of_checkpoint(
        "EHQ-LOAD",
        f"`auto_map` of config.json names {given}; a build loads one of {', '.join(known)}.",
        hint="Name the model's class in `auto_map`.",
    )


def not_run(what: str, error: Exception) -> StepFailure:
    """Return the failure for code that was let run and broke."""
    return of_checkpoint(
        "EHQ-REMOTE-CODE-BROKEN",
        f"The checkpoint's own code broke while `{what}` was loaded: {type(error).__name__}.",
        hint="It may be written for another release of Transformers or need a package that is not "
        "installed here; the log has all that it said.",
        detail=str(error)[:_DETAIL_LETTERS] or None,
    )
