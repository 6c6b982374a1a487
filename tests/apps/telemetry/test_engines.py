"""Samples of running engines are kept once each, and not for ever."""

from datetime import timedelta

import pytest

from apps.telemetry.models import EngineSample
from apps.telemetry.services.engines import telemetry_prune
from controlplane import clock
from tests.factories import make_replica
from workers.tasks.telemetry import sample

pytestmark = pytest.mark.django_db


def test_an_engine_is_sampled_when_it_has_said_something_new() -> None:
    replica = make_replica(metrics={"requests_running": 1.0})
    make_replica(metrics={"requests_running": 1.0}, state="stopped")
    make_replica()
    sample(format=1)
    sample(format=1)
    kept = EngineSample.objects.get()
    assert (kept.replica_id, kept.values) == (replica.id, {"requests_running": 1.0})
    replica.observed_at = clock.now()
    replica.save()
    sample(format=1, later_argument=True)
    assert EngineSample.objects.count() == 2


def test_old_samples_go() -> None:
    EngineSample.objects.create(
        replica_id="a",
        deployment_id="d",
        sampled_at=clock.now() - timedelta(days=3),
        values={},
    )
    assert telemetry_prune() == 1
