"""What beat asks for every 10 seconds: look at what runs, and roll it up."""

import pytest

from apps.telemetry.models import SeriesBucket, SeriesDelta
from tests.factories import make_replica
from workers.tasks.telemetry import fold, sample

pytestmark = pytest.mark.django_db


def test_what_engines_said_is_looked_at_and_rolled_up() -> None:
    make_replica(metrics={"requests_running": 1.0})
    sample(format=1, later_argument=True)
    assert SeriesDelta.objects.exists()
    fold(format=1)
    assert not SeriesDelta.objects.exists()
    assert set(SeriesBucket.objects.values_list("resolution_seconds", flat=True)) == {
        10, 60, 3600, 86_400,
    }  # fmt: skip
