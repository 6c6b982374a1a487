"""What makes every build true again after a process or a message was lost."""

from collections import Counter
from dataclasses import dataclass

from django.db import connection, transaction
from django.db.models import F

from apps.builds.models import Build, BuildStep
from apps.builds.queue import build_queue_length, build_send
from apps.builds.services.leases import (
    UNHELD,
    builds_requeue_abandoned,
    builds_unheld,
    card_holder,
)
from apps.fleet.services import cards_release
from controlplane import clock
from controlplane.domain.lifecycle import BuildState, StepState

_ADVISORY_LOCK = 7_020_001


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """What one sweep did."""

    requeued: int = 0
    cancelled: tuple[str, ...] = ()
    sent: int = 0


def builds_sweep() -> Sweep:
    """Return what was put right; nothing where another sweep is at it.

    1. Builds that were to be cancelled and lost their worker are cancelled.
    2. Builds whose lease ran out go back to the queue.
    3. Queued builds that no message stands for are sent again.
    """
    with transaction.atomic():
        if not _is_alone():
            return Sweep()
        cancelled = _cancel_abandoned()
        requeued = builds_requeue_abandoned()
    return Sweep(requeued=requeued, cancelled=cancelled, sent=_send_unannounced())


def _is_alone() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [_ADVISORY_LOCK])
        return bool(cursor.fetchone()[0])


def _cancel_abandoned() -> tuple[str, ...]:
    now = clock.now()
    abandoned = builds_unheld().exclude(cancel_requested_at=None).select_for_update(no_key=True)
    ids = tuple(abandoned.values_list("id", flat=True))
    BuildStep.objects.filter(build__in=ids, state=StepState.RUNNING).update(
        state=StepState.CANCELLED, finished_at=now
    )
    Build.objects.filter(id__in=ids).update(
        state=BuildState.CANCELLED, finished_at=now, lease_token=F("lease_token") + 1, **UNHELD
    )
    for build_id in ids:
        cards_release(holder=card_holder(build_id))
    return ids


def _send_unannounced() -> int:
    """Send every queued build of a pool whose queue holds fewer messages than builds wait.

    A message too many is harmless, so which build lacks one need not be known; while workers are
    busy the queue does not grow.
    """
    waiting = list(
        Build.objects.filter(state=BuildState.QUEUED)
        .order_by("created_at")
        .values_list("id", "pool")
    )
    counts = Counter(pool for _, pool in waiting)
    short = {pool for pool, count in counts.items() if build_queue_length(pool=pool) < count}
    unannounced = [(build_id, pool) for build_id, pool in waiting if pool in short]
    for build_id, pool in unannounced:
        build_send(build_id=build_id, pool=pool)
    return len(unannounced)
