"""Adds up how long deployments held GPUs, hour by hour, from the claims of their replicas."""

from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Max, Q

from apps.deployments.models import Replica
from apps.fleet.models import DeviceLease
from apps.telemetry.models import DeviceHour
from controlplane import clock

HOUR = timedelta(hours=1)
_LONGEST_AWAY = timedelta(days=7)
"""Claims that ended are kept that long, so an absence up to then loses no hour."""
_Place = tuple[datetime, str, str]


@transaction.atomic
def device_time_record(*, now: datetime | None = None) -> int:
    """Return how many rows of hours were written: those since the last one, which is done again."""
    now = now or clock.now()
    last = DeviceHour.objects.aggregate(last=Max("hour"))["last"]
    start = max(last, now - _LONGEST_AWAY) if last else now - _LONGEST_AWAY
    held_seconds = _held_seconds(start.replace(minute=0, second=0, microsecond=0), now)
    deployments = _deployments_of({replica_id for _, replica_id, _ in held_seconds})
    rows: dict[_Place, DeviceHour] = {}
    for (hour, replica_id, kind), seconds in held_seconds.items():
        if (owner := deployments.get(replica_id)) is None:
            continue
        deployment_id, model_id, team_id = owner
        row = rows.setdefault(
            (hour, deployment_id, kind),
            DeviceHour(
                hour=hour,
                deployment_id=deployment_id,
                model_id=model_id,
                team_id=team_id,
                kind=kind,
            ),
        )
        row.seconds += seconds
    DeviceHour.objects.bulk_create(
        rows.values(),
        update_conflicts=True,
        unique_fields=["hour", "deployment_id", "kind"],
        update_fields=["seconds"],
    )
    return len(rows)


def _held_seconds(start: datetime, now: datetime) -> dict[_Place, float]:
    held_by: dict[_Place, float] = defaultdict(float)
    open_or_recent = Q(released_at=None) | Q(released_at__gt=start)
    leases = DeviceLease.objects.filter(open_or_recent, holder__startswith="replica:")
    for lease in leases.select_related("device"):
        replica_id = lease.holder.partition(":")[2]
        share = lease.memory_bytes / lease.device.memory_bytes if lease.device.is_shared else 1.0
        begin, end = max(lease.claimed_at, start), lease.released_at or now
        for hour, seconds in _hours(begin, min(end, now)):
            held_by[hour, replica_id, lease.device.kind] += seconds * share
    return held_by


def _hours(begin: datetime, end: datetime) -> Iterator[tuple[datetime, float]]:
    hour = begin.replace(minute=0, second=0, microsecond=0)
    while hour < end:
        yield hour, (min(end, hour + HOUR) - max(begin, hour)).total_seconds()
        hour += HOUR


def _deployments_of(replica_ids: set[str]) -> dict[str, tuple[str, str, str]]:
    rows = Replica.objects.filter(id__in=replica_ids).values_list(
        "id", "deployment_id", "deployment__model_id", "deployment__model__team_id"
    )
    return {id: (deployment, model, team) for id, deployment, model, team in rows}
