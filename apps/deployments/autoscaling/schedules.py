"""Scheduled settings of environments: stored, shown, and in force for what serves there."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from django.db import transaction

from apps.accounts.audit.recording import audit
from apps.deployments.autoscaling.sizes import settings_of
from apps.deployments.models import Deployment, Environment
from apps.rest.errors import InvalidInput
from apps.rest.identifiers import new_id
from controlplane.domain.scaling.schedules import Cadence, Schedule, settings_at
from controlplane.domain.scaling.settings import ScalingSettings

UTC_NAME = "UTC"
MOST_SCHEDULES = 50


def settings_in_force(
    deployments: Iterable[Deployment], *, now: datetime
) -> dict[str, ScalingSettings]:
    settings_by_id = {each.id: settings_of(each) for each in deployments}
    rows = Environment.objects.filter(current_id__in=settings_by_id).exclude(
        autoscaling_schedules={}
    )
    for place in rows.only("current_id", "autoscaling_schedules").order_by("id"):
        if place.current_id is not None:
            _, settings_by_id[place.current_id] = _applied(
                place, settings_by_id[place.current_id], now
            )
    return settings_by_id


def schedules_shown(environment: Environment, *, now: datetime) -> dict[str, Any] | None:
    """Return the environment's schedules and what they apply now; None where it has none."""
    kept = environment.autoscaling_schedules
    if not kept:
        return None
    current = environment.current
    state = None
    if current is not None:
        id, settings = _applied(environment, settings_of(current), now)
        state = {"schedule_id": id, "autoscaling_settings": settings.to_json()}
    return {**kept, "applied_state": state}


@transaction.atomic
def schedules_update(*, environment: Environment, changes: Mapping[str, Any]) -> None:
    """Store schedules by id, new ones without, and remove those that are named so.

    Raises InvalidInput.
    """
    row = Environment.objects.select_for_update(no_key=True).get(id=environment.id)
    before = row.autoscaling_schedules
    timezone = _timezone(changes.get("timezone") or before.get("timezone") or UTC_NAME)
    known = {each["id"]: each for each in before.get("schedules", ())}
    for id in changes.get("delete_schedules", ()):
        if known.pop(id, None) is None:
            raise InvalidInput(f"There is no schedule `{id}`.", fields=[_at("delete_schedules")])
    for schedule in changes.get("schedules", ()):
        stored = _stored(schedule, known)
        known[stored["id"]] = stored
    if len(known) > MOST_SCHEDULES:
        raise InvalidInput(
            f"{len(known)} schedules are more than {MOST_SCHEDULES}.", fields=[_at("schedules")]
        )
    row.autoscaling_schedules = {"timezone": timezone, "schedules": [*known.values()]}
    row.save(update_fields=["autoscaling_schedules"])
    audit(
        "environment.configure", row, team=row.model.team, label=f"{row.model.name}/{row.name}",
        before=before, after=row.autoscaling_schedules,
    )  # fmt: skip


def _applied(
    place: Environment, usual: ScalingSettings, now: datetime
) -> tuple[str | None, ScalingSettings]:
    kept = place.autoscaling_schedules
    schedules = [Schedule.of(each) for each in kept.get("schedules", ())]
    return settings_at(usual, schedules, now, kept.get("timezone", UTC_NAME))


def _timezone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (OSError, ValueError, KeyError):
        raise InvalidInput(
            f"`{name[:80]}` is no time zone.",
            fields=[_at("timezone")],
            hint="Name one of the IANA database, such as `Europe/Berlin`.",
        ) from None
    return name


def _stored(schedule: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    id = schedule.get("id")
    if id is not None and id not in known:
        raise InvalidInput(f"There is no schedule `{id}`.", fields=[_at("schedules")])
    _require(schedule, _needed(schedule))
    settings = dict(schedule["autoscaling_settings"])
    low, high = settings.get("min_replica"), settings.get("max_replica")
    if low is not None and high is not None and low > high:
        raise _wrong(schedule, f"has `min_replica` {low} above `max_replica` {high}")
    moments = {
        name: schedule[name].isoformat() for name in ("start_at", "end_at") if schedule.get(name)
    }
    return {**schedule, **moments, "id": id or new_id(), "autoscaling_settings": settings}


def _needed(schedule: Mapping[str, Any]) -> Sequence[str]:
    if schedule["cadence"] == Cadence.ONE_TIME:
        return ("start_at", "end_at")
    if schedule["cadence"] == Cadence.DAILY:
        return ("weekdays", "start_hour", "end_hour")
    return ("weekdays",)


def _require(schedule: Mapping[str, Any], names: Sequence[str]) -> None:
    missing = [name for name in names if schedule.get(name) in (None, [])]
    if missing:
        raise _wrong(schedule, f"is {schedule['cadence']} and has no `{missing[0]}`")
    if schedule["cadence"] == Cadence.ONE_TIME and schedule["start_at"] >= schedule["end_at"]:
        raise _wrong(schedule, "ends before it starts")


def _wrong(schedule: Mapping[str, Any], what: str) -> InvalidInput:
    return InvalidInput(f"Schedule `{schedule['name']}` {what}.", fields=[_at("schedules")])


def _at(field: str) -> str:
    return f"autoscaling_schedule_settings.{field}"
