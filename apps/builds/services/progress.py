"""What the holder of a lease writes: every write names the token, or is refused."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from apps.builds.leasing import device_holder
from apps.builds.models import Build, BuildStep
from apps.builds.services.claims import held_build
from apps.fleet.services.devices import devices_release
from apps.leases.lease import Lease, LeaseLost
from apps.leases.services import UNHELD
from apps.telemetry.logs import log_append
from controlplane import clock
from controlplane.domain.failures import Failure
from controlplane.domain.lifecycle import BuildState, StepState, may_move_build
from controlplane.domain.storable import storable


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far a step is; `total` is None where nobody knows."""

    done: int
    total: int | None
    unit: str
    seconds_left: float | None = None


def step_log_owner(*, build_id: str, step: str) -> str:
    return f"build:{build_id}:{step}"


def build_enter(*, lease: Lease, state: BuildState) -> None:
    """Move a running build to its next state; being there already is fine."""
    with held_build(lease) as build:
        build_move(build, state)


def step_start(*, lease: Lease, step: str) -> None:
    _write_step(
        lease,
        step,
        state=StepState.RUNNING,
        started_at=clock.now(),
        finished_at=None,
        result=None,
        progress_done=0,
        progress_total=None,
        progress_unit="",
        progress_seconds_left=None,
        waits_for="",
    )


def step_wait(*, lease: Lease, step: str, reason: str) -> None:
    """Store what keeps the step from starting its work; an empty reason when nothing does."""
    _write_step(lease, step, waits_for=reason)


def step_progress(*, lease: Lease, step: str, progress: Progress) -> None:
    _write_step(
        lease,
        step,
        progress_done=progress.done,
        progress_total=progress.total,
        progress_unit=progress.unit,
        progress_seconds_left=progress.seconds_left,
    )


def step_finish(
    *, lease: Lease, step: str, result: Mapping[str, Any], progress: Progress | None
) -> None:
    changes: dict[str, Any] = {}
    if progress is not None:
        changes = {"progress_done": progress.done, "progress_total": progress.total}
    _write_step(
        lease,
        step,
        state=StepState.FINISHED,
        finished_at=clock.now(),
        result=storable(result),
        **changes,
    )


def step_reuse(*, lease: Lease, step: str, result: Mapping[str, Any] | None) -> None:
    """Mark a step as reused: what it would make is there."""
    now = clock.now()
    _write_step(
        lease,
        step,
        state=StepState.REUSED,
        started_at=now,
        finished_at=now,
        result=storable(result),
    )


def step_refuse(*, lease: Lease, step: str) -> None:
    """Mark a step as failed that found what must not go on; what it found stays."""
    _write_step(lease, step, state=StepState.FAILED)


def step_log(*, lease: Lease, step: str, sequence: int, text: str) -> None:
    with held_build(lease) as build:
        log_append(
            owner=step_log_owner(build_id=build.id, step=step),
            attempt=build.attempt,
            sequence=sequence,
            text=text,
        )


def build_fail(*, lease: Lease, failure: Failure) -> None:
    with held_build(lease) as build:
        _end_steps(build, StepState.FAILED)
        devices_release(holder=device_holder(build.id))
        build_move(
            build,
            BuildState.FAILED,
            failure=storable(failure.to_json()),
            finished_at=clock.now(),
            **UNHELD,
        )


def build_cancelled(*, lease: Lease) -> None:
    with held_build(lease) as build:
        _end_steps(build, StepState.CANCELLED)
        devices_release(holder=device_holder(build.id))
        build_move(build, BuildState.CANCELLED, finished_at=clock.now(), **UNHELD)


def build_move(build: Build, state: BuildState, **changes: Any) -> None:
    """Change the state of a held build, with whatever changes along; being there is fine.

    Raises:
        LeaseLost: the build is no longer in the state that was read.
    """
    old = BuildState(build.state)
    if old != state and not may_move_build(old, state):
        raise ValueError(f"A build cannot go from `{old}` to `{state}`.")
    if not Build.objects.filter(id=build.id, state=old).update(state=state, **changes):
        raise LeaseLost(build.id)


def _write_step(lease: Lease, step: str, **changes: Any) -> None:
    with held_build(lease) as build:
        BuildStep.objects.filter(build=build, name=step).update(**changes)


def _end_steps(build: Build, state: StepState) -> None:
    running = build.steps.filter(state=StepState.RUNNING)
    running.update(state=state, finished_at=clock.now())
