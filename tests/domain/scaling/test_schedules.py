"""When scheduled settings hold, by the clock on the wall of their time zone."""

from datetime import UTC, datetime

import pytest

from controlplane.domain.scaling.schedules import WEEKDAYS, Schedule, settings_at
from controlplane.domain.scaling.settings import ScalingSettings

USUAL = ScalingSettings(max_replica=4)
OFFICE = {
    "id": "office", "name": "Office hours", "enabled": True, "cadence": "DAILY",
    "weekdays": list(WEEKDAYS[:5]), "start_hour": 8, "start_minute": 30, "end_hour": 18,
    "end_minute": 0, "autoscaling_settings": {"min_replica": 2, "max_replica": None},
}  # fmt: skip
NIGHT = OFFICE | {"id": "night", "start_hour": 22, "end_hour": 6, "weekdays": ["FRIDAY"]}
HOURLY = OFFICE | {"id": "hourly", "cadence": "HOURLY", "start_minute": 55, "end_minute": 5}
ONCE = OFFICE | {
    "id": "once", "cadence": "ONE_TIME", "start_at": "2026-11-30T09:00:00+00:00",
    "end_at": "2026-11-30T10:00:00+00:00",
}  # fmt: skip


def _holds(schedule: dict[str, object], at: str, timezone: str = "UTC") -> bool:
    now = datetime.fromisoformat(at).replace(tzinfo=UTC)
    return settings_at(USUAL, [Schedule.of(schedule)], now, timezone)[0] is not None


@pytest.mark.parametrize(
    ("schedule", "at", "holds"),
    [
        (OFFICE, "2026-11-30T08:29", False),  # a Monday
        (OFFICE, "2026-11-30T08:30", True),
        (OFFICE, "2026-11-30T17:59", True),
        (OFFICE, "2026-11-30T18:00", False),
        (OFFICE, "2026-11-29T12:00", False),  # a Sunday
        (OFFICE | {"enabled": False}, "2026-11-30T12:00", False),
        (NIGHT, "2026-11-27T22:30", True),  # a Friday, over midnight into Saturday
        (NIGHT, "2026-11-28T05:59", True),
        (NIGHT, "2026-11-28T22:30", False),
        (HOURLY, "2026-11-30T09:57", True),
        (HOURLY, "2026-11-30T10:04", True),
        (HOURLY, "2026-11-30T10:05", False),
        (ONCE, "2026-11-30T09:59", True),
        (ONCE, "2026-11-30T10:00", False),
    ],
)
def test_settings_hold_from_the_start_and_no_more_at_the_end(schedule, at, holds):
    assert _holds(schedule, at) is holds


def test_hours_are_those_of_the_time_zone_in_summer_and_in_winter():
    assert _holds(OFFICE, "2026-07-27T06:30", "Europe/Berlin")
    assert not _holds(OFFICE, "2026-11-30T06:30", "Europe/Berlin")
    assert _holds(OFFICE, "2026-11-30T07:30", "Europe/Berlin")


def test_what_a_schedule_leaves_out_is_as_usual_and_one_for_once_goes_first():
    now = datetime(2026, 11, 30, 9, 30, tzinfo=UTC)
    both = [Schedule.of(OFFICE), Schedule.of(ONCE | {"autoscaling_settings": {"min_replica": 3}})]
    id, settings = settings_at(USUAL, both, now, "UTC")
    assert (id, settings.min_replica, settings.max_replica) == ("once", 3, 4)
    assert settings_at(USUAL, both[:1], now, "UTC")[1].min_replica == 2
    assert settings_at(USUAL, [], now, "UTC") == (None, USUAL)
