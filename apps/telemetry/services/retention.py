"""How long usage is kept, for the money that it stands for; series keep their own time."""

from datetime import timedelta

from apps.telemetry.models import DeviceHour, UsageMinute
from controlplane import clock

USAGE_KEPT = timedelta(days=400)


def telemetry_prune() -> int:
    old = clock.now() - USAGE_KEPT
    usage, _ = UsageMinute.objects.filter(minute__lt=old).delete()
    hours, _ = DeviceHour.objects.filter(hour__lt=old).delete()
    return usage + hours
