"""Settings that hold at times of the day, of the hour, or once, in place of the usual ones.

Source of fields and cadences: the hosted product's management API, 2026-08-22.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Self
from zoneinfo import ZoneInfo

from controlplane.domain.scaling.settings import ScalingSettings

WEEKDAYS = ("MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY", "SUNDAY")
_DAY_MINUTES = 24 * 60
_HOUR_MINUTES = 60


class Cadence(StrEnum):
    DAILY = "DAILY"
    HOURLY = "HOURLY"
    ONE_TIME = "ONE_TIME"


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """When its settings hold: from its start, and no more at its end."""

    id: str
    name: str
    enabled: bool
    cadence: Cadence
    autoscaling_settings: Mapping[str, Any]
    """A setting that is null is as usual."""
    weekdays: Sequence[str] = ()
    """Of the start, by the time zone."""
    start_hour: int | None = None
    start_minute: int = 0
    end_hour: int | None = None
    end_minute: int = 0
    start_at: datetime | None = None
    end_at: datetime | None = None

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> Self:
        moments = {
            name: datetime.fromisoformat(fields[name])
            for name in ("start_at", "end_at")
            if fields.get(name)
        }
        return cls(**{**fields, **moments, "cadence": Cadence(fields["cadence"])})

    def holds(self, now: datetime, zone: ZoneInfo) -> bool:
        if not self.enabled:
            return False
        if self.cadence is Cadence.ONE_TIME:
            return bool(self.start_at and self.end_at and self.start_at <= now < self.end_at)
        local = now.astimezone(zone)
        minute = local.minute
        if self.cadence is Cadence.HOURLY:
            return self._is_within(minute, self.start_minute, self.end_minute, _HOUR_MINUTES, local)
        start = (self.start_hour or 0) * _HOUR_MINUTES + self.start_minute
        end = (self.end_hour or 0) * _HOUR_MINUTES + self.end_minute
        return self._is_within(local.hour * _HOUR_MINUTES + minute, start, end, _DAY_MINUTES, local)

    def _is_within(self, at: int, start: int, end: int, period: int, local: datetime) -> bool:
        length = (end - start) % period or period
        since = (at - start) % period
        begun = local - timedelta(minutes=since)
        return since < length and WEEKDAYS[begun.weekday()] in self.weekdays


def settings_at(
    usual: ScalingSettings, schedules: Iterable[Schedule], now: datetime, timezone: str
) -> tuple[str | None, ScalingSettings]:
    """Return whose settings hold now, and these; one that is made for once goes before others."""
    zone = ZoneInfo(timezone)
    holding = [each for each in schedules if each.holds(now, zone)]
    if not holding:
        return None, usual
    first = min(holding, key=lambda each: each.cadence is not Cadence.ONE_TIME)
    settings = {
        name: value for name, value in first.autoscaling_settings.items() if value is not None
    }
    return first.id, ScalingSettings.of({**usual.to_json(), **settings})
