"""The slow check of everything: it looks at each deployment once in minutes, whoever changed it.

What it finds is a fault of ours, since whatever changes a deployment marks it: it is counted.
"""

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime

from django.db import transaction
from django.db.models import F

from apps.deployments.due import room_now
from apps.deployments.models import Deployment, Replica, SweepRecord
from apps.deployments.plan import decide, state_after
from apps.deployments.services.reconcile import deployment_reconcile
from apps.fleet.selectors import nodes_draining
from controlplane import clock
from controlplane.domain.lifecycle import REPLICA_TERMINAL

ROUNDS_FOR_ALL = 200
"""Ten minutes, at one every three seconds."""
_FEWEST = 10
_log = logging.getLogger(__name__)


def net_check(*, room: str, is_time_left: Callable[[], bool]) -> None:
    """Look at the next slice, and settle what should have been settled without it."""
    record, _ = SweepRecord.objects.get_or_create(id=1)
    rows, checked_to = _slice(record.checked_to), ""
    replicas, now = _live_of(rows), clock.now()
    moving = nodes_draining(node_ids={each.node_id for few in replicas.values() for each in few})
    for row in rows:
        if not is_time_left():
            break
        checked_to = row.id
        if _looks_unsettled(row, replicas.get(row.id, ()), moving, now):
            _settle(row.id, room)
    SweepRecord.objects.filter(id=1).update(checked_to=checked_to)


def _slice(after: str) -> list[Deployment]:
    count = max(_FEWEST, -(-Deployment.objects.count() // ROUNDS_FOR_ALL))
    rows = Deployment.objects.filter(id__gt=after).order_by("id")
    return list(rows.defer("spec", "checkpoint")[:count])


def _live_of(rows: Sequence[Deployment]) -> Mapping[str, list[Replica]]:
    live_replicas: dict[str, list[Replica]] = {}
    live = Replica.objects.filter(deployment__in=rows).exclude(state__in=REPLICA_TERMINAL)
    for replica in live.order_by("id"):
        live_replicas.setdefault(replica.deployment_id, []).append(replica)
    return live_replicas


def _looks_unsettled(
    row: Deployment, replicas: Sequence[Replica], moving: Collection[str], now: datetime
) -> bool:
    """Return whether it may need a move; what ended and is not read here may still forbid one."""
    decision = decide(row, replicas, now=now, draining=moving)
    is_moving = decision.order or decision.stop or decision.drain
    return bool(is_moving) or state_after(row, replicas) != row.state


@transaction.atomic
def _settle(deployment_id: str, room: str) -> None:
    rows = Deployment.objects.select_for_update(no_key=True).filter(id=deployment_id)
    row = rows.first()
    if row is None or _is_called(row, clock.now()):
        return
    if deployment_reconcile(deployment_id=deployment_id, room=room):
        _log.error("deployment %s needed a move that nothing had called for", deployment_id)
        SweepRecord.objects.filter(id=1).update(
            missed=F("missed") + 1, missed_at=clock.now(), missed_deployment=deployment_id
        )


def _is_called(row: Deployment, now: datetime) -> bool:
    """Return whether its turn comes without this check, so that nothing was missed."""
    if row.marked_at is not None or (row.reconcile_at is not None and row.reconcile_at <= now):
        return True
    # Room may have come since this round began.
    return row.room_seen is not None and row.room_seen != room_now(now)
