"""What makes every build true again after a process or a message was lost."""

from dataclasses import dataclass

from django.db import transaction

from apps.builds.leasing import BUILD, device_holder
from apps.builds.models import Build, BuildStep
from apps.fleet.services.devices import devices_release
from apps.leases.services import TAKEN_AWAY, leases_unheld
from apps.leases.sweeping import leases_sweep
from controlplane import clock
from controlplane.domain.lifecycle import BuildState, StepState


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """What one sweep did."""

    given_up: int = 0
    requeued: int = 0
    cancelled: tuple[str, ...] = ()
    sent: int = 0


def builds_sweep() -> Sweep:
    """Return what was put right.

    1. Builds that were to be cancelled and lost their worker are cancelled.
    2. Builds that lost their worker too often fail.
    3. Builds whose lease ran out go back to the queue.
    4. Queued builds that no message stands for are sent again.
    """
    cancelled = _cancel_abandoned()
    swept = leases_sweep(BUILD)
    return Sweep(
        given_up=swept.given_up, requeued=swept.requeued, cancelled=cancelled, sent=swept.sent
    )


@transaction.atomic
def _cancel_abandoned() -> tuple[str, ...]:
    now = clock.now()
    abandoned = leases_unheld(BUILD).exclude(cancel_requested_at=None)
    ids = tuple(abandoned.select_for_update(no_key=True).values_list("id", flat=True))
    BuildStep.objects.filter(build__in=ids, state=StepState.RUNNING).update(
        state=StepState.CANCELLED, finished_at=now
    )
    Build.objects.filter(id__in=ids).update(
        state=BuildState.CANCELLED, finished_at=now, **TAKEN_AWAY
    )
    for build_id in ids:
        devices_release(holder=device_holder(build_id))
    return ids
