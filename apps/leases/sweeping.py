"""What makes work true again after a worker or a message was lost."""

import logging
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta

from django.db import connection, transaction

from apps.leases.kinds import LeaseKind
from apps.leases.lease import SEND_AGAIN_SECONDS
from apps.leases.models import Leased
from apps.leases.queue import work_send
from apps.leases.services import (
    TAKEN_AWAY,
    leases_claimable,
    leases_requeue,
    leases_unheld,
)
from controlplane.celery import CONTROL_QUEUE
from controlplane.clock import SYSTEM, Clock
from controlplane.hints import HintLost, queue_length

_LOCKS = 7_020_001
"""The first half of the advisory locks; the second is made of the kind's name."""
_MOST_SENT = 100
_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Swept:
    cancelled: tuple[str, ...] = ()
    given_up: int = 0
    requeued: int = 0
    sent: int = 0


def leases_sweep(kind: LeaseKind, *, clock: Clock = SYSTEM) -> Swept:
    """Return what was put right; nothing where another sweep of the kind is at it.

    1. What was to be cancelled and lost its holder is cancelled.
    2. What was begun too often is given up.
    3. What lost its holder waits again.
    4. What no message stands for is sent again.
    """
    with transaction.atomic():
        if not _is_alone(kind):
            return Swept()
        kind.tidy()
        if not leases_unheld(kind).exists():  # of which all of the below are some
            return Swept()
        cancelled = _cancel(kind)
        given_up = _give_up(kind)
        requeued = _requeue(kind)
        waiting = _waiting(kind)
    # The broker is asked without the lock and outside the transaction: it may be silent.
    lost = _unannounced(kind, waiting, clock)
    for row in lost:
        work_send(kind, row)
    return Swept(cancelled=cancelled, given_up=given_up, requeued=requeued, sent=len(lost))


def _is_alone(kind: LeaseKind) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_try_advisory_xact_lock(%s, hashtext(%s))", [_LOCKS, f"lease {kind.name}"]
        )
        return bool(cursor.fetchone()[0])


def _cancel(kind: LeaseKind) -> tuple[str, ...]:
    if not kind.cancelled:
        return ()
    abandoned = leases_unheld(kind).filter(**{f"{kind.cancel_column}__isnull": False})
    ids = tuple(abandoned.select_for_update(no_key=True).values_list("pk", flat=True))
    kind.let_go(ids)
    kind.cancel_parts(ids)
    kind.model._default_manager.filter(pk__in=ids).update(**kind.cancelled, **TAKEN_AWAY)
    return ids


def _give_up(kind: LeaseKind) -> int:
    hopeless = leases_unheld(kind).filter(kind.may_be_claimed, lease_claims__gte=kind.most_claims)
    ids = list(hopeless.select_for_update(no_key=True).values_list("pk", flat=True))
    kind.let_go(ids)
    kind.end_parts(ids)
    rows = kind.model._default_manager.filter(pk__in=ids)
    return rows.update(**kind.given_up(), **TAKEN_AWAY)


def _requeue(kind: LeaseKind) -> int:
    if not kind.waiting:
        return 0
    left_behind = leases_claimable(kind).exclude(**kind.waiting)
    return leases_requeue(left_behind, kind)


def _waiting(kind: LeaseKind) -> list[Leased]:
    columns = ("pk", kind.since, *kind.queue_columns)
    rows = leases_claimable(kind).order_by(kind.since).only(*columns)
    return list(rows[: kind.most_looked_at])


def _unannounced(kind: LeaseKind, waiting: Collection[Leased], clock: Clock) -> list[Leased]:
    """Return what has waited for a while, in queues that hold fewer messages than rows wait for.

    A message too many is harmless, so which row lacks one need not be known; while workers are
    busy the queue does not grow.
    """
    late = clock.now() - timedelta(seconds=SEND_AGAIN_SECONDS)
    overdue = [row for row in waiting if getattr(row, kind.since) < late]
    counts = Counter(map(kind.queue_of, waiting))
    short = {queue for queue in set(map(kind.queue_of, overdue)) if _is_short(queue, counts[queue])}
    return [row for row in overdue if kind.queue_of(row) in short][:_MOST_SENT]


def _is_short(queue: str, waiting: int) -> bool:
    # The control queue holds the beat's ticks too; whoever sweeps reads it, so it does not pile up.
    if queue == CONTROL_QUEUE:
        return True
    try:
        return queue_length(queue) < waiting
    except HintLost as error:
        _log.warning("%s: its messages were not counted: %s", queue, error)
        return False
