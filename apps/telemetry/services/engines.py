"""Engine samples: what running engines reported of themselves, kept for a while."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from apps.telemetry.models import DeviceHour, EngineSample, UsageMinute
from controlplane import clock

ENGINE_SAMPLES_KEPT = timedelta(days=2)
USAGE_KEPT = timedelta(days=400)


@dataclass(frozen=True, kw_only=True)
class Measured:
    """The latest values of one engine."""

    replica_id: str
    deployment_id: str
    observed_at: datetime
    values: Mapping[str, float]


def engine_samples_record(*, measured: Sequence[Measured]) -> int:
    """Return how many engines had something newer than their last sample."""
    fresh = [each for each in measured if not _is_known(each)]
    EngineSample.objects.bulk_create(
        EngineSample(
            replica_id=each.replica_id,
            deployment_id=each.deployment_id,
            sampled_at=each.observed_at,
            values=dict(each.values),
        )
        for each in fresh
    )
    return len(fresh)


def telemetry_prune() -> int:
    """Return how many samples and usage rows were older than they are kept."""
    now = clock.now()
    samples, _ = EngineSample.objects.filter(sampled_at__lt=now - ENGINE_SAMPLES_KEPT).delete()
    usage, _ = UsageMinute.objects.filter(minute__lt=now - USAGE_KEPT).delete()
    hours, _ = DeviceHour.objects.filter(hour__lt=now - USAGE_KEPT).delete()
    return samples + usage + hours


def _is_known(measured: Measured) -> bool:
    return EngineSample.objects.filter(
        deployment_id=measured.deployment_id,
        replica_id=measured.replica_id,
        sampled_at__gte=measured.observed_at,
    ).exists()
