"""What would these settings have done with last week's traffic?"""

import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.deployments.autoscaling.sizes import settings_of
from apps.deployments.autoscaling.what_if import Recorded, in_short, recorded, replay
from apps.deployments.memory_need import hardware_of
from apps.deployments.models import Deployment
from controlplane import clock
from controlplane.domain.scaling.settings import LIMITS, ScalingSettings, problems_of

_LONGEST_DAYS = 30
_SHOWN: Mapping[str, str] = {
    "requests_waited": "requests waited",
    "requests_waited_percent": "of all, %",
    "mean_wait_seconds": "mean wait, s",
    "longest_wait_seconds": "longest wait, s",
    "gpu_hours": "GPU hours",
    "cold_starts": "cold starts",
    "starts": "starts",
    "most_replicas": "most replicas",
}


class Command(BaseCommand):
    help = "Say what settings would have done with a deployment's recorded traffic."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("deployment", help="its id")
        parser.add_argument("--days", type=float, default=7.0)
        parser.add_argument("--json", action="store_true", dest="as_json")
        for name in LIMITS:
            parser.add_argument(f"--{name.replace('_', '-')}", type=int, metavar="NUMBER")

    def handle(self, *args: Any, deployment: str, days: float, as_json: bool, **given: Any) -> None:
        row = Deployment.objects.select_related("model").filter(id=deployment).first()
        if row is None:
            raise CommandError(f"There is no deployment `{deployment}`.")
        if not 0 < days <= _LONGEST_DAYS:
            raise CommandError(f"`--days` {days:g} is not between 0 and {_LONGEST_DAYS}.")
        limits = {name: given[name] for name in LIMITS if given[name] is not None}
        today = settings_of(row)
        changed_settings = _wanted(today, limits)
        now = clock.now()
        traffic = recorded(deployment=row, start=now - timedelta(days=days), end=now, now=now)
        if not traffic.requests:
            raise CommandError(f"Nothing was asked of `{row.name}` in the last {days:g} days.")
        devices = hardware_of(row).count
        outcomes = {
            name: in_short(replay(settings, traffic), devices_per_replica=devices)
            for name, settings in {"today": today, "asked": changed_settings}.items()
        }
        self.stdout.write(_as_json(traffic, outcomes) if as_json else _as_text(traffic, outcomes))


def _wanted(today: ScalingSettings, given_limits: Mapping[str, int]) -> ScalingSettings:
    for name, value in given_limits.items():
        least, most = LIMITS[name]
        if value < least or (most is not None and value > most):
            limits = f"at least {least}" if most is None else f"between {least} and {most}"
            raise CommandError(f"`--{name.replace('_', '-')}` {value} is not {limits}.")
    settings = ScalingSettings.of({**today.to_json(), **given_limits})
    if settings.target_in_flight_tokens is not None:
        raise CommandError("Series do not keep tokens for each request: simulate concurrency.")
    for _, sentence, hint in problems_of(given_limits, settings):
        raise CommandError(f"{sentence} {hint}")
    return settings


def _as_json(traffic: Recorded, outcomes: Mapping[str, Any]) -> str:
    return json.dumps({**_basis(traffic), **outcomes}, indent=2)


def _basis(traffic: Recorded) -> dict[str, Any]:
    return {
        "start": traffic.start.isoformat(),
        "end": traffic.end.isoformat(),
        "requests": traffic.requests,
        "service_seconds": round(traffic.service_seconds, 3),
        "start_seconds": round(traffic.start_seconds, 1),
        "measured_starts": traffic.measured_starts,
    }


def _as_text(traffic: Recorded, outcomes: Mapping[str, Any]) -> str:
    starts = f"the median of {traffic.measured_starts}" if traffic.measured_starts else "a guess"
    head = (
        f"{traffic.requests:,} requests of {traffic.service_seconds:.3g} s each; "
        f"a start takes {traffic.start_seconds:.0f} s ({starts})."
    )
    rows = [f"{'':18}{'today':>12}{'asked':>12}"]
    rows += [
        f"{words:18}{outcomes['today'][name]:>12,}{outcomes['asked'][name]:>12,}"
        for name, words in _SHOWN.items()
    ]
    return "\n".join([head, "", *rows])
