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
    outcome = make_deployment()
    labels = {"team_id": outcome.model.team_id, "deployment_id": outcome.id}
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
    return outcome


def drawn(deployment: Deployment, range_name: str) -> dict[str, Any]:
    return deployment_charts(deployment=deployment, range_name=range_name, now=NOW)


def test_values_stand_in_their_times_none_in_gaps_and_zero_where_nothing_was_asked(
    deployment: Deployment,
) -> None:
    samples = drawn(deployment, "15m")
    assert samples["window"] == "last 15 minutes, by 10 s"
    place, later = (samples["times"].index(int(NOW.timestamp()) - age) for age in (100, 60))
    assert samples["requests"][place : later + 1] == [0.3, None, None, None, 0]
    assert samples["errors"][place] == 0.1
    assert samples["first_token_p99"][place] == pytest.approx(0.5, rel=0.01)
    assert samples["first_token_p99"][later] is None
    assert (samples["kv_used"][place], samples["accepted"][place]) == (25, 40)
    assert samples["tokens_per_step"][place] == 1.5
    assert samples["running"] == [None] * len(samples["times"])


def test_figures_are_of_the_range_and_not_of_the_time_before_the_deployment(
    deployment: Deployment,
) -> None:
    Deployment.objects.update(created_at=NOW - timedelta(seconds=105))
    deployment.refresh_from_db()
    headlines = drawn(deployment, "15m")["headlines"]
    # Two steps were counted since it was made: the requests' own, and one of a live gateway.
    assert (headlines["requests"], headlines["requests_total"]) == ("0.15", "3 in all")
    assert (headlines["errors"], headlines["errors_total"]) == ("33\u202f%", "1 answered 5xx")
    milliseconds, unit = headlines["first_token"].split("\u202f")
    assert (float(milliseconds), unit) == (pytest.approx(500, rel=0.01), "ms")
    assert headlines["basis"].startswith("Measured by the gateway, last 15 minutes;")
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
    words = [each["words"] for each in drawn(deployment, "1h")["events"]["marks"]]
    assert words == [
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
        samples = drawn(deployment, name)
        assert samples["window"].startswith(range.words)
        assert timedelta(seconds=samples["end"] - samples["start"] + 20) == range.length
        assert samples["start"] - samples["times"][0] < samples["times"][1] - samples["times"][0]
        lengths = {len(values) for values in samples.values() if isinstance(values, list)}
        assert lengths == {len(samples["times"])}
    assert drawn(deployment, "")["window"] == drawn(deployment, "1h")["window"]
