"""What production serves, with its last hour by the series of the gateways."""

from datetime import timedelta

import pytest

from apps.deployments.environments.production import HourOfTraffic, production_rows
from apps.deployments.models import Deployment
from apps.telemetry.series.cells import Cells
from apps.telemetry.series.names import Source
from apps.telemetry.series.services import Batch, batches_add, series_fold
from controlplane import clock
from tests.factories import Cast, make_cast, make_deployment, make_model, make_replica
from tests.manual_clock import ManualClock

pytestmark = pytest.mark.django_db
NOW = clock.now().replace(minute=0, second=0, microsecond=0)


@pytest.fixture
def cast() -> Cast:
    return make_cast()


def served(cast: Cast, name: str) -> Deployment:
    model = make_model(team=cast.team, name=name)
    return make_deployment(model=model, name=name, environment="production")


def requests(deployment: Deployment, count: int, **labels: str) -> Cells:
    """Count them five minutes ago, when a gateway was heard; the last one is a failure."""
    cells, at = Cells(), NOW.timestamp() - 300
    named = {
        "team_id": deployment.model.team_id, "model_id": deployment.model_id,
        "deployment_id": deployment.id, "environment": "production", "key_id": "k",
        "replica_id": "r",
    } | labels  # fmt: skip
    for number in range(count):
        status = "5xx" if number == count - 1 else "2xx"
        cell = cells.at(Source.GATEWAY, at, named | {"status_class": status})
        cell.count("requests", 1)
        cell.observe("time_to_first_token_seconds", 0.5)
    cells.at(Source.CONTROL_PLANE, at, {}).look("gateways_live", 1)
    return cells


def traffic_of(cast: Cast, *batches: Cells) -> list[HourOfTraffic]:
    report = [Batch(source="test", sequence=n + 1, cells=each) for n, each in enumerate(batches)]
    batches_add(report)
    series_fold(clock=ManualClock(NOW))
    return [each.traffic for each in production_rows(team=cast.team, most=9, now=NOW)]


def test_a_row_tells_rate_errors_and_first_token_of_what_was_asked_as_production(
    cast: Cast,
) -> None:
    busy, quiet = served(cast, "a"), served(cast, "b")
    beside = requests(quiet, 7, environment="staging")
    request, none = traffic_of(cast, requests(busy, 24), beside)
    assert request.requests_per_second == pytest.approx(24 / 120)
    assert request.error_share == pytest.approx(1 / 24)
    assert request.first_token_p90_seconds == pytest.approx(0.5, rel=0.01)
    assert none == HourOfTraffic()


def test_time_without_a_gateway_is_a_gap_of_the_trend(cast: Cast) -> None:
    (request,) = traffic_of(cast, requests(served(cast, "a"), 12))
    assert len(request.trend) == 30
    assert [each for each in request.trend if each is not None] == [pytest.approx(0.1)]


def test_without_production_nothing_is_asked(cast: Cast) -> None:
    make_deployment(model=make_model(team=cast.team))
    assert traffic_of(cast) == []


@pytest.mark.parametrize("age_seconds", [0, 60])
def test_a_row_tells_whether_a_node_has_said_lately_that_it_runs(
    cast: Cast, age_seconds: int
) -> None:
    heard_at = clock.now() - timedelta(seconds=age_seconds)
    make_replica(deployment=served(cast, "a"), observed_at=heard_at)
    served(cast, "b")
    runs, idle = production_rows(team=cast.team, most=9)
    assert (runs.is_confirmed, idle.is_confirmed) == (age_seconds == 0, True)
