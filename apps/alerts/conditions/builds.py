from collections.abc import Iterator
from datetime import datetime, timedelta

from django.db.models import Exists, F, OuterRef
from django.urls import reverse

from apps.alerts.conditions.condition import Condition
from apps.builds.models import Build
from apps.fleet.selectors import builder_is_there
from controlplane.clock import Clock
from controlplane.domain.alert_kinds import AlertKindName
from controlplane.domain.lifecycle import BuildState

REMEMBERED = timedelta(days=30)
PATIENCE = timedelta(minutes=5)
_COLUMNS = ("id", "number", "team_id", "failure", "finished_at", "created_at")


def build_conditions(clock: Clock) -> Iterator[Condition]:
    """Give the configs whose last build failed, and the builds that wait without a worker."""
    now = clock.now()
    yield from _failed(now)
    yield from _waiting(now)


def _failed(now: datetime) -> Iterator[Condition]:
    later = Build.objects.filter(
        revision__config_id=OuterRef("revision__config_id"), number__gt=OuterRef("number")
    )
    failed = Build.objects.filter(state=BuildState.FAILED, finished_at__gt=now - REMEMBERED)
    rows = failed.filter(~Exists(later)).annotate(config_name=F("revision__config__name"))
    for row in rows.order_by("id").values(*_COLUMNS, "config_name"):
        failure = row["failure"] or {}
        yield Condition(
            kind=AlertKindName.BUILD_FAILED,
            subject=row["id"],
            team_id=row["team_id"],
            sentence=f"Build {row['number']} of `{row['config_name']}` failed. "
            f"{failure.get('sentence', 'It ended without giving a reason.')}",
            hint=failure.get("hint") or "",
            path=reverse("builds:build", args=[row["number"]]),
            began_at=row["finished_at"],
        )


def _waiting(now: datetime) -> Iterator[Condition]:
    if builder_is_there():
        return
    queued = Build.objects.filter(state=BuildState.QUEUED, created_at__lt=now - PATIENCE)
    rows = queued.annotate(config_name=F("revision__config__name"))
    for row in rows.order_by("id").values(*_COLUMNS, "config_name"):
        yield Condition(
            kind=AlertKindName.BUILD_WAITING,
            subject=row["id"],
            team_id=row["team_id"],
            sentence=f"Build {row['number']} of `{row['config_name']}` waits, and no build worker "
            "is alive.",
            hint="Start a build worker, as `manage.py up` and the compose file do.",
            path=reverse("builds:build", args=[row["number"]]),
            began_at=row["created_at"],
        )
