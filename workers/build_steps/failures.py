"""What a step can fail with beside what sources, artifacts and engines say themselves."""

from collections.abc import Mapping, Sequence
from typing import Any

from controlplane.domain.failures import Failure
from controlplane.domain.failures.raised import RaisedFailure
from controlplane.domain.failures.registry import build


class StepFailure(RaisedFailure):
    """Ends a step with a failure to show."""


def blocked(examination: Mapping[str, Any]) -> StepFailure:
    """Return the failure for a config that the rules refuse once the files are here."""
    errors = [each for each in examination["findings"] if each["severity"] == "error"]
    waiting = examination["waiting"]
    reasons = [f"{each['code']}: {each['message']}" for each in (*errors, *waiting)]
    first = errors[0] if errors else None
    more = f" ({len(reasons) - 1} more)" if len(reasons) > 1 else ""
    return StepFailure.of(
        build.BLOCKED,
        reasons=f"{reasons[0] if reasons else 'The config did not parse.'}{more}",
        field=first["fields"][0] if first and first["fields"] else None,
        fix=first["fix"]["patch"] if first and first["fix"] else None,
        detail="\n".join(reasons) or None,
    )


def changed_output(step: str, names: Sequence[str]) -> StepFailure:
    return StepFailure.of(build.OUTPUT_CHANGED, step=step, name=names[0])


def not_measured(names: Sequence[str]) -> StepFailure:
    return StepFailure.of(build.NOT_MEASURED, name=names[0])


def disk_full(folder: str) -> Failure:
    return build.DISK_FULL.failure(folder=folder)


def unknown_version(runtime: str, version: str, known: Sequence[str]) -> StepFailure:
    return StepFailure.of(
        build.RUNTIME_VERSION, runtime=runtime, version=version, known=", ".join(known)
    )


def engine_slow(seconds: float, last_lines: str) -> StepFailure:
    return StepFailure.of(build.ENGINE_SLOW, seconds=seconds, detail=last_lines or None)


def bad_answer(reason: str, body: str) -> StepFailure:
    return StepFailure.of(build.BAD_ANSWER, reason=reason, detail=body or None)
