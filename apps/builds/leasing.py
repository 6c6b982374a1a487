from collections.abc import Collection, Mapping
from typing import Any

from django.db.models import F, Q
from django.db.models.functions import Coalesce

from apps.builds.models import Build, BuildStep
from apps.configs.revision_secrets import revision_secrets
from apps.fleet.services.devices import devices_release
from apps.leases.database_clock import ClockTimestamp
from apps.leases.kind_parts import failed_with, on_queue_of_pool
from apps.leases.kinds import LeaseKind
from apps.leases.services import TAKEN_AWAY
from controlplane.domain.failures.registry import build
from controlplane.domain.lifecycle import BUILD_TERMINAL, BuildState, StepState

MOST_CLAIMS = 10
"""In one attempt. More than of short work: hosts restart, and an outage of the database counts."""
TRIED_AGAIN: Mapping[str, Any] = {
    "attempt": F("attempt") + 1,
    "failure": None,
    "started_at": None,
    "finished_at": None,
    "cancel_requested_at": None,
    "lease_claims": 0,
    **TAKEN_AWAY,
}
"""What a build, or a push, says that waits for its next attempt."""
RUNNING = frozenset(BuildState) - BUILD_TERMINAL - {BuildState.QUEUED}


def device_holder(build_id: str) -> str:
    return f"build:{build_id}"


def _release_devices(build_ids: Collection[str]) -> None:
    for build_id in build_ids:
        devices_release(holder=device_holder(build_id))


def _given_up() -> Mapping[str, Any]:
    failure = build.WORKER_LOST.failure(times=MOST_CLAIMS)
    return failed_with(failure, state=BuildState.FAILED)


def _fail_steps(build_ids: Collection[str]) -> None:
    running = BuildStep.objects.filter(build__in=build_ids, state=StepState.RUNNING)
    running.update(state=StepState.FAILED, finished_at=ClockTimestamp())


def _cancel_steps(build_ids: Collection[str]) -> None:
    running = BuildStep.objects.filter(build__in=build_ids, state=StepState.RUNNING)
    running.update(state=StepState.CANCELLED, finished_at=ClockTimestamp())


BUILD = LeaseKind(
    name="build",
    model=Build,
    task="build.run",
    queue_of=on_queue_of_pool,
    queue_columns=("pool",),
    secrets_of=revision_secrets,
    related=("team", "revision"),
    is_open=~Q(state__in=BUILD_TERMINAL),
    may_be_claimed=Q(cancel_requested_at=None),
    waiting={"state": BuildState.QUEUED},
    claimed={
        "state": BuildState.FETCHING,
        "started_at": Coalesce("started_at", ClockTimestamp()),
    },
    cancel_column="cancel_requested_at",
    cancelled={"state": BuildState.CANCELLED, "finished_at": ClockTimestamp()},
    cancel_parts=_cancel_steps,
    let_go=_release_devices,
    most_claims=MOST_CLAIMS,
    given_up=_given_up,
    end_parts=_fail_steps,
)
