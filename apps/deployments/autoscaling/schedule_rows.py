from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from apps.deployments.autoscaling.forms import LABELS
from apps.deployments.autoscaling.schedules import UTC_NAME
from controlplane.domain.scaling.schedules import WEEKDAYS, Cadence
from controlplane.domain.scaling.settings import LIMITS


@dataclass(frozen=True, kw_only=True)
class ScheduleRow:
    stored: Mapping[str, Any]
    zone: ZoneInfo
    holds: bool

    @property
    def when(self) -> str:
        stored = self.stored
        if stored["cadence"] == Cadence.ONE_TIME:
            return " to ".join(_moment(stored[name], self.zone) for name in ("start_at", "end_at"))
        days = _days(stored["weekdays"])
        if stored["cadence"] == Cadence.HOURLY:
            return f"{days}, each hour :{stored['start_minute']:02} to :{stored['end_minute']:02}"
        start, end = _hour(stored, "start"), _hour(stored, "end")
        return f"{days}, all day" if start == end else f"{days}, {start} to {end}"

    @property
    def settings(self) -> Mapping[str, int]:
        """What is not as usual then, by the names of the form."""
        settings = self.stored["autoscaling_settings"]
        return {LABELS[name]: settings[name] for name in LIMITS if settings.get(name) is not None}


def schedule_rows(shown: Mapping[str, Any]) -> Sequence[ScheduleRow]:
    zone = ZoneInfo(shown.get("timezone", UTC_NAME))
    in_force = (shown.get("applied_state") or {}).get("schedule_id")
    return [
        ScheduleRow(stored=each, zone=zone, holds=each["id"] == in_force)
        for each in shown.get("schedules", ())
    ]


def _moment(stored: str, zone: ZoneInfo) -> str:
    return f"{datetime.fromisoformat(stored).astimezone(zone):%Y-%m-%d %H:%M}"


def _days(weekdays: Collection[str]) -> str:
    if set(weekdays) == set(WEEKDAYS):
        return "Every day"
    if set(weekdays) == set(WEEKDAYS[:5]):
        return "Mon to Fri"
    return ", ".join(each[:3].capitalize() for each in WEEKDAYS if each in weekdays)


def _hour(stored: Mapping[str, Any], end: str) -> str:
    return f"{stored[f'{end}_hour']:02}:{stored[f'{end}_minute']:02}"
