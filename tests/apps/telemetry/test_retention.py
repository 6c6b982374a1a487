"""Usage is kept for more than a year, and not for ever."""

from datetime import timedelta

import pytest

from apps.telemetry.models import UsageMinute
from apps.telemetry.services.retention import telemetry_prune
from controlplane import clock

pytestmark = pytest.mark.django_db


def test_usage_past_its_retention_goes() -> None:
    for days in (399, 401):
        UsageMinute.objects.create(
            minute=clock.now() - timedelta(days=days),
            deployment_id="d", model_id="m", key_id="k", status_class=2,
        )  # fmt: skip
    assert telemetry_prune() == 1
    assert UsageMinute.objects.count() == 1
