"""What a step can fail with beside what sources, artifacts and engines say themselves."""

from collections.abc import Mapping, Sequence
from typing import Any

from controlplane.domain.failures import Blame, Failure
from controlplane.domain.remote_code import REPO_FIELD


class StepFailure(Exception):
    """Ends a step with a failure to show."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.sentence)
        self.failure = failure


def of_checkpoint(
    code: str,
    sentence: str,
    *,
    hint: str,
    field: str = REPO_FIELD,
    fix: Mapping[str, Any] | None = None,
    detail: str | None = None,
) -> StepFailure:
    """Return a failure whose fault is the checkpoint's."""
    return StepFailure(
        Failure(
            code=code,
            blame=Blame.CHECKPOINT,
            sentence=sentence,
            field=field,
            hint=hint,
            fix=fix,
            detail=detail,
        )
    )


def of_machine(
    code: str, sentence: str, *, hint: str, field: str | None = None, detail: str | None = None
) -> StepFailure:
    """Return a failure whose fault is the machine's, or that of a place it asks."""
    return StepFailure(
        Failure(
            code=code,
            blame=Blame.MACHINE,
            sentence=sentence,
            field=field,
            hint=hint,
            detail=detail,
        )
    )


def no_checkpoint() -> StepFailure:
    """Return the failure for a config that names no checkpoint."""
    return StepFailure(
        Failure(
            code="EHB-NO-CHECKPOINT",
            blame=Blame.CONFIGURATION,
            sentence="The config names no checkpoint to build from.",
            field="trt_llm.build.checkpoint_repository",
            hint="Add `checkpoint_repository` with `source` and `repo`.",
        )
    )


def blocked(examination: Mapping[str, Any]) -> StepFailure:
    """Return the failure for a config that the rules refuse once the files are here."""
    errors = [each for each in examination["findings"] if each["severity"] == "error"]
    waiting = examination["waiting"]
    reasons = [f"{each['code']}: {each['message']}" for each in (*errors, *waiting)]
    first = errors[0] if errors else None
    more = f" ({len(reasons) - 1} more)" if len(reasons) > 1 else ""
    return StepFailure(
        Failure(
            code="EHB-BLOCKED",
            blame=Blame.CONFIGURATION,
            sentence=f"The fetched checkpoint cannot be built with this config. "
            f"{reasons[0] if reasons else 'The config did not parse.'}{more}",
            field=first["fields"][0] if first and first["fields"] else None,
            hint="Change the config as the findings say, then build again.",
            fix=first["fix"]["patch"] if first and first["fix"] else None,
            detail="\n".join(reasons) or None,
        )
    )


def changed_output(step: str, names: Sequence[str]) -> StepFailure:
    """Return the failure for a published output whose files are not what was published."""
    return StepFailure(
        Failure(
            code="EHB-OUTPUT-CHANGED",
            blame=Blame.MACHINE,
            sentence=f"The output of step `{step}` has changed on disk: `{names[0]}` differs.",
            hint="Check the disk that holds DATA_DIR and retry: the step is done again.",
        )
    )


def not_measured(names: Sequence[str]) -> StepFailure:
    """Return the failure for a quantized model that is not the one that the gate looked at."""
    return StepFailure(
        Failure(
            code="EHB-OUTPUT-CHANGED",
            blame=Blame.MACHINE,
            sentence=f"`{names[0]}` is not the file that the quality gate looked at.",
            hint="Retry: the gate looks at what is there now.",
        )
    )


def disk_full(folder: str) -> Failure:
    """Return the failure for a step that found no room."""
    return Failure(
        code="EHB-DISK-FULL",
        blame=Blame.MACHINE,
        sentence=f"The disk that holds `{folder}` is full.",
        hint="Free some space there, or point DATA_DIR at a larger disk, and retry.",
    )


def no_runtime(runtime: str) -> StepFailure:
    """Return the failure for a config whose runtime this worker cannot start."""
    return StepFailure(
        Failure(
            code="EHB-NO-RUNTIME",
            blame=Blame.MACHINE,
            sentence=f"This build worker cannot start the runtime `{runtime}` for the smoke test.",
            field="enginehouse.runtime",
            hint="Build in a pool whose workers have it (`VLLM_PYTHON` or `VLLM_IMAGE`, "
            "`TRTLLM_PYTHON` or `TRTLLM_IMAGE` name it), or set `enginehouse.runtime: native`.",
        )
    )


def unknown_version(runtime: str, version: str, known: Sequence[str]) -> StepFailure:
    """Return the failure for a runtime in a version that no command is written for."""
    return StepFailure(
        Failure(
            code="EHB-RUNTIME-VERSION",
            blame=Blame.MACHINE,
            sentence=f"This build worker has `{runtime}` {version}, which is not known here.",
            field="enginehouse.runtime",
            hint=f"Install one of {', '.join(known)} on its host, or a newer Enginehouse.",
        )
    )


def engine_slow(seconds: float, last_lines: str) -> StepFailure:
    """Return the failure for an engine that did not get ready."""
    return StepFailure(
        Failure(
            code="EHB-ENGINE-SLOW",
            blame=Blame.MACHINE,
            sentence=f"The engine was not ready after {seconds:.0f} seconds.",
            hint="Look at the log for what it was doing; a busy machine needs longer.",
            detail=last_lines or None,
        )
    )


def template_refused(reason: str) -> StepFailure:
    """Return the failure for an engine that answers plain text and refuses a conversation."""
    return of_checkpoint(
        "EHB-TEMPLATE",
        f"The checkpoint's chat template refuses a conversation of one question: {reason}",
        hint="Repair chat_template.jinja (or `chat_template` in tokenizer_config.json) in the "
        "checkpoint; without one the model is served for plain prompts.",
    )


def bad_answer(reason: str, body: str) -> StepFailure:
    """Return the failure for an engine that is up and does not answer as it should."""
    return StepFailure(
        Failure(
            code="EHB-BAD-ANSWER",
            blame=Blame.OURS,
            sentence=f"The engine started and did not answer the test question: {reason}.",
            hint="The checkpoint's chat template or weights may be damaged; the log says more.",
            detail=body or None,
        )
    )
