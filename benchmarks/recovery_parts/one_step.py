"""How long a cancelled step's processes stay: polite ones, and ones that are deaf."""

import time
from pathlib import Path

from workers.build_steps.child import OutcomeKind, StepCommand, Verdict, run_step
from workers.build_steps.processes import LEASE_VARIABLE, environment, living

_DEAF = "trap '' TERM\nsleep 600 &\nsetsid sleep 600 &\nsleep 600; sleep 600"
"""One grandchild in the session and one in a session of its own, who do not hear either."""
_SCRIPTS = {"polite": ("exec sleep 600", 1), "deaf": (_DEAF, 4)}


def cancel_steps(folder: Path) -> dict[str, float]:
    """Seconds from a cancel that is seen until no process of the step is left."""
    return {
        f"step_cancelled_{kind}_seconds": _cancelled(folder, kind, body, count)
        for kind, (body, count) in _SCRIPTS.items()
    }


def _cancelled(folder: Path, kind: str, body: str, count: int) -> float:
    script = folder / f"{kind}.sh"
    script.write_text(f"#!/bin/bash\n{body}\n")
    script.chmod(0o755)
    lease = f"build/{kind}/1"
    asked_at: list[float] = []

    def cancel_once_all_are_up() -> Verdict:
        if len(living(lambda each: environment(each.pid).get(LEASE_VARIABLE) == lease)) < count:
            return Verdict.CONTINUE
        asked_at.append(time.monotonic())
        return Verdict.CANCEL

    outcome = run_step(
        StepCommand(
            step="fetch",
            job_path=folder / "no_job.json",
            lease=lease,
            instance=str(folder),
            python=str(script),
        ),
        on_progress=lambda _progress: None,
        on_log=lambda _log: None,
        heartbeat=cancel_once_all_are_up,
        heartbeat_seconds=0.05,
    )
    if outcome.kind is not OutcomeKind.CANCELLED:
        raise SystemExit(f"A cancelled step ended as {outcome.kind}.")
    return time.monotonic() - asked_at[0]
