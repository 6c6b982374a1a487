from collections.abc import Callable

from django.db import transaction
from django.db.models import Max

from apps.accounts.audit.recording import audit
from apps.accounts.models import Team, User
from apps.builds.forecasts.forecast import forecast_of_revision
from apps.builds.leasing import BUILD, RUNNING, TRIED_AGAIN, device_holder
from apps.builds.models import Build, BuildStep
from apps.configs.models import Revision
from apps.configs.services.examination import revision_examine
from apps.fleet.selectors import pools_closed_to
from apps.fleet.services.devices import devices_release
from apps.leases.queue import work_send
from apps.leases.services import TAKEN_AWAY
from apps.rest.errors import Conflict, InvalidInput
from controlplane import clock
from controlplane.domain.lifecycle import (
    BUILD_MOVES,
    BUILD_TERMINAL,
    BuildState,
    StepState,
    steps_of_build,
)
from controlplane.domain.spec import Spec

_MAY_RETRY = [state for state, moves in BUILD_MOVES.items() if moves == {BuildState.QUEUED}]


def build_create(
    *, revision: Revision, user: User | None, deploy: Callable[[Build], object] | None = None
) -> Build:
    """Return a new queued build of the revision.

    `deploy` makes whatever waits for the build, in the same transaction.

    Raises:
        Conflict: the checks, run again with what is known now, block it or wait for facts.
    """
    runtime = ready_runtime(revision)
    expected = forecast_of_revision(revision)
    team = revision.config.team
    spec = Spec.model_validate(revision.spec)
    _refuse_pool_of_others(team, spec.pool)
    with transaction.atomic():
        build = Build.objects.create(
            number=next_number(team),
            team=team,
            revision=revision,
            pool=spec.pool,
            runtime=runtime,
            forecast=expected.to_json(),
            created_by=user,
        )
        BuildStep.objects.bulk_create(
            BuildStep(build=build, name=name, position=position)
            for position, name in enumerate(
                steps_of_build(quantizes=not spec.quantization_type.is_none)
            )
        )
        revised = {"config": revision.config.name, "revision": revision.number}
        audit("build.create", build, team=team, after=revised)
        if deploy is not None:
            deploy(build)
        work_send(BUILD, build)
    return build


@transaction.atomic
def build_cancel(*, build: Build) -> Build:
    """Return the build as it is after the request: a queued one is cancelled at once.

    A running one is stopped by its worker, which looks every second.

    Raises:
        Conflict: the build has ended.
    """
    running = Build.objects.filter(id=build.id, state__in=RUNNING, cancel_requested_at=None)
    changed = _cancel_queued(build) or running.update(cancel_requested_at=clock.now())
    if changed:
        audit("build.cancel", build, team=build.team, before={"state": build.state})
    build.refresh_from_db()
    if not changed and build.state in BUILD_TERMINAL - {BuildState.CANCELLED}:
        raise Conflict(f"Build {build.number} has {build.state} and cannot be cancelled.")
    return build


def build_retry(*, build: Build) -> Build:
    """Return the build, queued again as its next attempt; what was finished is looked at first.

    Raises:
        Conflict: the build has neither failed nor been cancelled, or its pool is others' now.
    """
    with transaction.atomic():
        retried = Build.objects.filter(id=build.id, state__in=_MAY_RETRY).update(
            state=BuildState.QUEUED, **TRIED_AGAIN
        )
        build.refresh_from_db()
        if not retried:
            raise Conflict(
                f"Build {build.number} is {build.state}; "
                "only a failed or cancelled build can be tried again."
            )
        _refuse_pool_of_others(build.team, build.pool)
        audit("build.retry", build, team=build.team, after={"attempt": build.attempt})
        _steps_reset(build)
        work_send(BUILD, build)
    return build


def build_promote(*, build: Build, user: User | None, reason: str) -> Build:
    """Return the build, queued again to go on although the gate found too much lost.

    Who accepted the loss, when and why stays on the build and in the artifact's passport.

    Raises:
        InvalidInput: no reason is given.
        Conflict: the build did not fail at its gate.
    """
    if not reason.strip():
        raise InvalidInput("Say why the loss is acceptable.", fields=["reason"])
    with transaction.atomic():
        stopped = Build.objects.select_for_update(no_key=True).filter(
            id=build.id, state=BuildState.FAILED
        )
        gate = build.steps.filter(name="gate", state=StepState.FAILED).first()
        result = (gate.result if gate else None) or {}
        if not stopped.exists() or not result.get("failure"):
            raise Conflict(f"Build {build.number} did not fail at its quality gate.")
        stopped.update(
            promotion={
                "accepted": result["failure"]["sentence"],
                "by": user.email if user else None,
                "at": clock.now().isoformat(timespec="seconds"),
                "reason": reason.strip(),
            }
        )
        audited = {"accepted": result["failure"]["sentence"], "reason": reason.strip()}
        audit("build.promote", build, team=build.team, after=audited)
        return build_retry(build=build)


def next_number(team: Team) -> int:
    """Return the number of the team's next build, within a transaction that makes it."""
    # The team's row is held so that two builds never take one number.
    Team.objects.select_for_update(no_key=True).get(id=team.id)
    last = Build.objects.filter(team=team).aggregate(last=Max("number"))["last"]
    return int(last or 0) + 1


def ready_runtime(revision: Revision) -> str:
    """Return what will serve the revision. Raises Conflict where it cannot be built now."""
    examined = revision_examine(revision=revision)
    examination = examined.to_json()
    errors = [each for each in examination["findings"] if each["severity"] == "error"]
    if errors:
        raise Conflict(
            f"{errors[0]['code']}: {errors[0]['message']}",
            code="revision_blocked",
            fields=[field for each in errors for field in each["fields"]],
            hint="Fix the errors of this revision, then build the new revision.",
            details={"findings": errors},
        )
    if examination["waiting"]:
        raise Conflict(
            examination["waiting"][0]["message"],
            code="revision_waiting",
            hint="Ask again once the facts of the checkpoint have arrived.",
            details={"waiting": examination["waiting"]},
        )
    return examined.runtime


def _refuse_pool_of_others(team: Team, pool: str) -> None:
    if pool in pools_closed_to(team_id=team.id):
        raise Conflict(
            f"The GPUs of pool `{pool}` are assigned to other teams.",
            code="pool_not_assigned",
            fields=["enginehouse.pool"],
            hint="Name a pool of your team, or have an admin of the organisation assign this one.",
        )


@transaction.atomic
def _cancel_queued(build: Build) -> int:
    now = clock.now()
    cancelled = Build.objects.filter(id=build.id, state=BuildState.QUEUED).update(
        state=BuildState.CANCELLED,
        cancel_requested_at=now,
        finished_at=now,
        **TAKEN_AWAY,
    )
    if cancelled:
        # A worker that died left them behind when the build went back to the queue.
        devices_release(holder=device_holder(build.id))
    return cancelled


def _steps_reset(build: Build) -> None:
    unfinished = build.steps.exclude(state__in=[StepState.FINISHED, StepState.REUSED])
    unfinished.update(result=None, measured=None)
    # A finished step keeps its result: it is reused where its published output still verifies.
    build.steps.update(
        state=StepState.WAITING,
        progress_done=0,
        progress_total=None,
        progress_unit="",
        progress_seconds_left=None,
        started_at=None,
        finished_at=None,
    )
