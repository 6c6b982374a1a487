"""What a deployment's charts draw: each range in its step, gaps as they are, errors beside all."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from apps.deployments.metrics.charts import RANGES, deployment_charts
from apps.deployments.models import Deployment, EnvironmentSwitch
from apps.telemetry.series.cells import Cells
from apps.telemetry.series.names import Source
from apps.telemetry.series.services import Batch, batches_add, series_fold
from tests.factories import make_deployment, make_environment, make_replica
from tests.manual_clock import ManualClock

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 11, 28, 12, 0, 30, tzinfo=UTC)


@pytest.fixture
def deployment() -> Deployment:
    """A deployment with three requests 100 seconds ago, and a gateway that was heard later."""
    found = make_deployment()
    labels = {"team_id": found.model.team_id, "deployment_id": found.id}
    cells, at = Cells(), NOW.timestamp()
    for status in ("2xx", "2xx", "5xx"):
        cell = cells.at(Source.GATEWAY, at - 100, labels | {"status_class": status})
        cell.count("requests", 1)
        cell.observe("time_to_first_token_seconds", 0.5)
    cells.at(Source.CONTROL_PLANE, at - 60, {}).look("gateways_live", 1)
    engine = cells.at(Source.ENGINE, at - 100, labels | {"replica_id": "r"})
    engine.look("kv_cache_used_ratio", 0.25)
    engine.count("draft_tokens", 10)
    engine.count("accepted_draft_tokens", 4)
    engine.count("engine_completion_tokens", 12)
    batches_add([Batch(source="test", sequence=1, cells=cells)])
    series_fold(clock=ManualClock(NOW))
    return found


def drawn(deployment: Deployment, range_name: str) -> dict[str, Any]:
    return deployment_charts(deployment=deployment, range_name=range_name, now=NOW)


def test_values_stand_in_their_times_none_in_gaps_and_zero_where_nothing_was_asked(
    deployment: Deployment,
) -> None:
    told = drawn(deployment, "15m")
    assert told["window"] == "last 15 minutes, by 10 s"
    place, later = (told["times"].index(int(NOW.timestamp()) - age) for age in (100, 60))
    assert told["requests"][place : later + 1] == [0.3, None, None, None, 0]
    assert told["errors"][place] == 0.1
    assert told["first_token_p99"][place] == pytest.approx(0.5, rel=0.01)
    assert told["first_token_p99"][later] is None
    assert (told["kv_used"][place], told["accepted"][place]) == (25, 40)
    assert told["tokens_per_step"][place] == 1.5
    assert told["running"] == [None] * len(told["times"])


def test_figures_are_of_the_range_and_not_of_the_time_before_the_deployment(
    deployment: Deployment,
) -> None:
    Deployment.objects.update(created_at=NOW - timedelta(seconds=105))
    deployment.refresh_from_db()
    told = drawn(deployment, "15m")["headlines"]
    # Two steps were counted since it was made: the requests' own, and one of a live gateway.
    assert (told["requests"], told["requests_total"]) == ("0.15", "3 in all")
    assert (told["errors"], told["errors_total"]) == ("33\u202f%", "1 answered 5xx")
    milliseconds, unit = told["first_token"].split("\u202f")
    assert (float(milliseconds), unit) == (pytest.approx(500, rel=0.01), "ms")
    assert told["basis"].startswith("Measured by the gateway, last 15 minutes;")
    later = deployment_charts(
        deployment=deployment, range_name="15m", now=NOW + timedelta(minutes=20)
    )["headlines"]
    assert (later["requests"], later["errors"], later["first_token"]) == ("–", "–", "–")


def test_what_happened_within_the_range_is_marked(deployment: Deployment) -> None:
    place = make_environment(model=deployment.model, name="production", current=deployment)
    other = make_deployment(model=deployment.model, name="other")
    place.current = other
    place.save()
    Deployment.objects.filter(id=deployment.id).update(created_at=NOW - timedelta(days=2))
    ages = iter((30, 10))
    for switch in EnvironmentSwitch.objects.order_by("id"):
        EnvironmentSwitch.objects.filter(id=switch.id).update(
            at=NOW - timedelta(minutes=next(ages))
        )
    lost = make_replica(
        deployment=deployment,
        state="failed",
        finished_at=NOW - timedelta(minutes=20),
        failure={"sentence": "Its engine was killed. More of it."},
    )
    deployment.refresh_from_db()
    told = [each["words"] for each in drawn(deployment, "1h")["events"]["marks"]]
    assert told == [
        "production points here",
        f"Replica {lost.id} lost: Its engine was killed.",
        "production moved to other",
    ]
    assert len(drawn(deployment, "15m")["events"]["marks"]) == 1
    assert drawn(deployment, "7d")["events"]["marks"][0]["kind"] == "made"


def test_every_range_has_its_words_its_length_and_as_many_values_as_times(
    deployment: Deployment,
) -> None:
    for name, range in RANGES.items():
        told = drawn(deployment, name)
        assert told["window"].startswith(range.words)
        assert timedelta(seconds=told["end"] - told["start"] + 20) == range.length
        assert told["start"] - told["times"][0] < told["times"][1] - told["times"][0]
        lengths = {len(values) for values in told.values() if isinstance(values, list)}
        assert lengths == {len(told["times"])}
    assert drawn(deployment, "")["window"] == drawn(deployment, "1h")["window"]
