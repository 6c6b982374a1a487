"""Why a process ended without saying so, and what an error underneath a failure says more."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from controlplane.domain.failures import Failure
from controlplane.domain.failures.crash_evidence import CrashEvidence
from controlplane.domain.failures.explain import explain
from controlplane.domain.failures.patterns import device, disk, host_memory
from controlplane.domain.failures.registry import build, gate, quantization

_SAY_LITTLE = frozenset(
    {quantization.LOAD.code, quantization.TOKENIZER.code, quantization.EXPORT.code}
)
"""Failures that only pass on what a library said."""
_KNOW_NO_CONFIG = frozenset({quantization.GPU_MEMORY.code})
"""Failures that say more than a library, and offer no fix."""

_BLAME_A_TASK = frozenset({gate.TASK_BROKEN.code, gate.TASK_DATA.code})
"""Failures that name a task for whatever was raised while it was done."""
_ROOM = frozenset(each.code for each in (*device.PATTERNS, *disk.PATTERNS, *host_memory.PATTERNS))
"""What the machine ran out of."""


def explain_crash(
    subject: str,
    exit_code: int,
    last_lines: str,
    *,
    spec: Mapping[str, Any] | None = None,
    was_oom_killed: bool = False,
) -> Failure:
    """Return the failure that a process left evidence of; `subject` opens its sentence."""
    return explain(
        CrashEvidence(
            subject=subject,
            exit_code=exit_code,
            log_tail=last_lines,
            spec=spec or {},
            was_oom_killed=was_oom_killed,
        )
    )


def told_apart(
    failure: Failure, cause: BaseException | None, step: str, spec: Mapping[str, Any]
) -> Failure:
    """Return the failure, or the one that its cause is known to be where it says little itself.

    One that does not know the config is given the fix that its cause offers in it; one that blames
    a task gives way where the machine had no room.
    """
    if cause is None or failure.code not in _SAY_LITTLE | _KNOW_NO_CONFIG | _BLAME_A_TASK:
        return failure
    words = _words(cause) if failure.code not in _BLAME_A_TASK else _words_of_chain(cause)
    known = explain_crash(f"Step `{step}`", 1, words, spec=spec)
    if failure.code in _KNOW_NO_CONFIG:
        return replace(failure, fix=known.fix) if known.code == failure.code else failure
    if failure.code in _BLAME_A_TASK:
        return known if known.code in _ROOM else failure
    return failure if known.code == build.CRASHED.code else known


def _words(error: BaseException) -> str:
    return f"{type(error).__module__}.{type(error).__name__}: {error}"


def _words_of_chain(error: BaseException | None) -> str:
    """Return what was raised, the first one last: a library says less than what it wraps."""
    words = []
    while error is not None:
        words.append(_words(error))
        error = error.__cause__ or error.__context__
    return "\n".join(words)


def spec_of_job(job_path: Path) -> Mapping[str, Any]:
    try:
        spec = json.loads(job_path.read_bytes())["spec"]
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    return spec if isinstance(spec, Mapping) else {}
