"""What settings would have done with the traffic that series kept."""

import json
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from apps.deployments.models import Deployment
from apps.telemetry.series.cells import Cells
from apps.telemetry.series.names import Source
from apps.telemetry.series.services import Batch, batches_add, series_fold
from controlplane import clock
from tests.factories import make_deployment, make_replica

pytestmark = pytest.mark.django_db
_HOUR_SECONDS = 3600


@pytest.fixture
def deployment() -> Deployment:
    """Two hours ago it was asked 600 times within ten minutes; a replica takes 90 s to start."""
    made = make_deployment(state="active", max_replica=4, autoscaling={"scale_down_delay": 300})
    now = clock.now()
    make_replica(deployment=made, ordered_at=now, ready_at=now + timedelta(seconds=90))
    made.replicas.update(ordered_at=now)
    labels = {"team_id": made.model.team_id, "model_id": made.model_id, "deployment_id": made.id}
    cells, begin = Cells(), (now.timestamp() - 2 * _HOUR_SECONDS) // 60 * 60
    for number in range(60):
        cell = cells.at(Source.GATEWAY, begin + number * 10, labels | {"status_class": "2xx"})
        cell.count("requests", 10)
        cell.observe("end_to_end_seconds", 2.5)
        cell.observe("queue_seconds", 0.5)
    batches_add([Batch(source="test", sequence=1, cells=cells)])
    series_fold()
    return made


def _told(deployment: Deployment, *options: str) -> dict[str, dict[str, float]]:
    out = StringIO()
    call_command(
        "simulate_autoscaling", deployment.id, "--json", "--days", "0.2", *options, stdout=out
    )
    return json.loads(out.getvalue())


def test_settings_are_compared_on_the_recorded_traffic(deployment: Deployment) -> None:
    report = _told(deployment, "--min-replica", "2", "--max-replica", "2")
    assert report["requests"] == 600
    assert report["service_seconds"] == pytest.approx(2.0, rel=0.02)
    assert (report["start_seconds"], report["measured_starts"]) == (90, 1)
    today, request = report["today"], report["asked"]
    assert (today["cold_starts"], request["cold_starts"]) == (1, 0)
    assert request["gpu_hours"] == pytest.approx(2 * 0.2 * 24, rel=0.02)
    assert today["gpu_hours"] < request["gpu_hours"] / 4
    assert today["requests_waited"] > request["requests_waited"]


def test_the_table_names_what_it_rests_on(deployment: Deployment) -> None:
    out = StringIO()
    call_command("simulate_autoscaling", deployment.id, "--days", "0.2", stdout=out)
    text = out.getvalue()
    assert text.startswith("600 requests of ")
    assert "a start takes 90 s (the median of 1)." in text
    assert "cold starts" in text


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--autoscaling-window", "5"], "`--autoscaling-window` 5 is not between 10 and 3600."),
        (["--min-replica", "9"], "`min_replica` 9 is above `max_replica` 4."),
        (["--days", "0.001"], "Nothing was asked of"),
        (["--days", "90"], "`--days` 90 is not between 0 and 30."),
    ],
)
def test_what_cannot_be_simulated_is_said(
    deployment: Deployment, options: list[str], words: str
) -> None:
    with pytest.raises(CommandError, match=words):
        call_command("simulate_autoscaling", deployment.id, *options)


def test_an_unknown_deployment_is_named() -> None:
    with pytest.raises(CommandError, match="There is no deployment `nobody`"):
        call_command("simulate_autoscaling", "nobody")
