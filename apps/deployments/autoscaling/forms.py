"""What people type about the size of a deployment, and about one schedule of an environment."""

from collections.abc import Mapping
from datetime import UTC, datetime, time
from typing import Any
from zoneinfo import ZoneInfo

from django import forms

from apps.rest.errors import InvalidInput
from controlplane.domain.scaling.schedules import WEEKDAYS, Cadence
from controlplane.domain.scaling.settings import LIMITS

_CADENCES = (
    (Cadence.DAILY, "On days of the week"),
    (Cadence.HOURLY, "Each hour"),
    (Cadence.ONE_TIME, "Once"),
)
LABELS = {
    "min_replica": "Minimum replicas",
    "max_replica": "Maximum replicas",
    "autoscaling_window": "Window (s)",
    "scale_down_delay": "Scale-down delay (s)",
    "concurrency_target": "Concurrency target",
    "target_utilization_percentage": "Target utilization (%)",
    "target_in_flight_tokens": "Tokens in flight target",
    "max_scale_down_rate": "Scale-down rate (%)",
}
_OPTIONAL = "target_in_flight_tokens"
"""Without it concurrency and utilization decide."""
_REPLICAS = ("min_replica", "max_replica")
"""What a schedule is mostly for."""
TIMES = (
    ("start_time", Cadence.DAILY.value, "From"),
    ("end_time", Cadence.DAILY.value, "Until"),
    ("start_minute", Cadence.HOURLY.value, "From minute"),
    ("end_minute", Cadence.HOURLY.value, "Until minute"),
    ("start_at", Cadence.ONE_TIME.value, "From"),
    ("end_at", Cadence.ONE_TIME.value, "Until"),
)
"""Field, cadence that reads it, label."""
_NEEDED = {
    Cadence.DAILY: ("weekdays", "start_time", "end_time"),
    Cadence.HOURLY: ("weekdays",),
    Cadence.ONE_TIME: ("start_at", "end_at"),
}
_WEEKEND = 5
_MINUTE = "%Y-%m-%dT%H:%M"


def _minute() -> forms.IntegerField:
    return forms.IntegerField(required=False, min_value=0, max_value=59)


def _moment() -> forms.DateTimeField:
    widget = forms.DateTimeInput(attrs={"type": "datetime-local"}, format=_MINUTE)
    return forms.DateTimeField(required=False, input_formats=[_MINUTE], widget=widget)


def _time() -> forms.TimeField:
    return forms.TimeField(
        required=False, widget=forms.TimeInput(attrs={"type": "time"}, format="%H:%M")
    )


def _setting(name: str, *, required: bool) -> forms.IntegerField:
    least, most = LIMITS[name]
    return forms.IntegerField(
        required=required, min_value=least, max_value=most, label=LABELS[name]
    )


class SizeForm(forms.Form):
    """How a deployment follows its load, as it is in force where nothing was typed."""

    def __init__(self, data: Any = None, **more: Any) -> None:
        super().__init__(data, auto_id="size-%s", **more)
        for name in LIMITS:
            self.fields[name] = _setting(name, required=name != _OPTIONAL)

    def changes(self) -> dict[str, Any]:
        """Return what differs from what was in force. Raises InvalidInput for what is wrong."""
        if not self.is_valid():
            name, problems = next(iter(self.errors.items()))
            raise InvalidInput(f"{LABELS[name]}: {problems[0]}", fields=[name])
        typed = self.cleaned_data
        return {name: typed[name] for name in LIMITS if typed[name] != self.initial[name]}


class ScheduleForm(forms.Form):
    """When which settings hold; the services check what belongs together."""

    name = forms.CharField(max_length=100)
    cadence = forms.ChoiceField(choices=[(each.value, label) for each, label in _CADENCES])
    weekdays = forms.MultipleChoiceField(
        required=False,
        choices=[(each, each.capitalize()) for each in WEEKDAYS],
        initial=WEEKDAYS[:_WEEKEND],
        widget=forms.CheckboxSelectMultiple,
    )
    start_time, end_time = _time(), _time()
    start_minute, end_minute = _minute(), _minute()
    start_at, end_at = _moment(), _moment()
    enabled = forms.BooleanField(required=False, initial=True)

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        for name in LIMITS:
            self.fields[name] = _setting(name, required=False)

    def clean(self) -> dict[str, Any]:
        """Return what was typed; a cadence needs its own times."""
        data = super().clean() or {}
        for name in _NEEDED.get(data.get("cadence", ""), ()):
            if name not in self.errors and data.get(name) in (None, []):
                self.add_error(name, "Choose at least one." if name == "weekdays" else "When?")
        return data

    @property
    def replica_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in _REPLICAS]

    @property
    def more_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in LIMITS if name not in _REPLICAS]

    @property
    def has_more(self) -> bool:
        """Whether any of `more_fields` says something."""
        return any(each.errors or each.value() not in (None, "") for each in self.more_fields)

    def schedule(self, zone: ZoneInfo, schedule_id: str | None) -> dict[str, Any]:
        """Return what the service stores; moments were typed in that zone."""
        data = self.cleaned_data
        return {
            "id": schedule_id,
            "name": data["name"],
            "enabled": data["enabled"],
            "cadence": data["cadence"],
            "autoscaling_settings": {name: data[name] for name in LIMITS},
            **self._times(zone),
        }

    def _times(self, zone: ZoneInfo) -> dict[str, Any]:
        data = self.cleaned_data
        if data["cadence"] == Cadence.ONE_TIME:
            ends = ("start_at", "end_at")
            return {name: _in_zone(data[name], zone) for name in ends if data[name]}
        if data["cadence"] == Cadence.HOURLY:
            ends = ("start_minute", "end_minute")
            return {"weekdays": data["weekdays"], **{name: data[name] or 0 for name in ends}}
        return {
            "weekdays": data["weekdays"],
            **_clock(data["start_time"], "start"),
            **_clock(data["end_time"], "end"),
        }


def shown_in_form(stored: Mapping[str, Any], zone: ZoneInfo) -> dict[str, Any]:
    hours = {
        f"{end}_time": time(stored[f"{end}_hour"], stored[f"{end}_minute"])
        for end in ("start", "end")
        if stored.get(f"{end}_hour") is not None
    }
    moments = {
        name: datetime.fromisoformat(stored[name]).astimezone(zone).replace(tzinfo=None)
        for name in ("start_at", "end_at")
        if stored.get(name)
    }
    return {**stored, **stored["autoscaling_settings"], **hours, **moments}


def _in_zone(typed: datetime, zone: ZoneInfo) -> datetime:
    return typed.replace(tzinfo=zone).astimezone(UTC)


def _clock(typed: time | None, end: str) -> dict[str, int]:
    return {} if typed is None else {f"{end}_hour": typed.hour, f"{end}_minute": typed.minute}
