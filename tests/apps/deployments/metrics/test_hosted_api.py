"""Metrics in the hosted product's shape, of a model, a deployment and an environment."""

from itertools import pairwise
from typing import Any

import pytest
from django.test import Client

from apps.deployments.models import Deployment
from apps.telemetry.series.cells import Cells
from apps.telemetry.series.names import Source
from apps.telemetry.series.services import Batch, batches_add, series_fold
from controlplane import clock
from tests.factories import make_api_key, make_deployment

pytestmark = pytest.mark.django_db


@pytest.fixture
def deployment() -> Deployment:
    """A deployment of which six requests ended 40 seconds ago, by a replica."""
    outcome = make_deployment(environment="production")
    labels = {"team_id": outcome.model.team_id, "model_id": outcome.model_id,
              "deployment_id": outcome.id}  # fmt: skip
    cells, at = Cells(), clock.now().timestamp() - 40
    for status, environment in [("2xx", "production")] * 4 + [("5xx", "production"), ("2xx", "")]:
        of = {**labels, "status_class": status, "environment": environment}
        cell = cells.at(Source.GATEWAY, at, of)
        cell.count("requests", 1)
        cell.observe("end_to_end_seconds", 2.0)
    cells.at(Source.CONTROL_PLANE, at, labels).look("replicas_ready", 3)
    batches_add([Batch(source="test", sequence=1, cells=cells)])
    series_fold()
    return outcome


def ask(client: Client, deployment: Deployment, place: str, **query: Any) -> Any:
    key = make_api_key(team=deployment.model.team)
    path = f"/v1/models/{deployment.model_id}{place}/metrics"
    return client.get(path, query, headers={"authorization": f"Bearer {key}"})


def told(body: Any, name: str) -> dict[str, Any]:
    """Return what the only value set says of a metric, by the label that tells it apart."""
    names = [each["name"] for each in body["metric_descriptors"]]
    place = names.index(name)
    (values,) = body["metric_values"]
    labels = ["".join(each.values()) for each in body["metric_descriptors"][place]["label_sets"]]
    return dict(zip(labels, values["values"][place], strict=True))


def test_the_default_metrics_are_of_the_latest_minute(
    client: Client, deployment: Deployment
) -> None:
    body = ask(client, deployment, f"/deployments/{deployment.id}").json()
    assert (body["mode"], body["step_seconds"]) == ("CURRENT", None)
    assert told(body, "replicas_active") == {"": 3}
    rates = told(body, "inference_requests_total")
    # By the seconds of the window, of which 61 divide 5 with a remainder.
    assert rates["2xx"] == pytest.approx(5 * rates["5xx"])
    assert told(body, "end_to_end_response_time_seconds") == {
        name: pytest.approx(2, rel=0.01) for name in ("p50", "p90", "p95", "p99")
    }


def test_an_environment_has_its_own_requests_and_a_model_all(
    client: Client, deployment: Deployment
) -> None:
    body = {"mode": "SUMMARY", "metrics": ["baseten_inference_requests_total"]}
    own = ask(client, deployment, "/environments/production", **body).json()
    every = ask(client, deployment, "", **body).json()
    name = "baseten_inference_requests_total"
    assert told(own, name)["2xx"] == pytest.approx(4 * told(own, name)["5xx"])
    assert told(every, name)["2xx"] == pytest.approx(5 * told(every, name)["5xx"])


def test_series_have_a_value_set_for_each_step_and_null_in_gaps(
    client: Client, deployment: Deployment
) -> None:
    body = ask(client, deployment, "", mode="SERIES", metrics=["replicas_active"]).json()
    values = [each["values"][0][0] for each in body["metric_values"]]
    assert values.count(3.0) == 1
    assert set(values) == {3.0, None}
    starts = [each["start_epoch_millis"] for each in body["metric_values"]]
    assert {late - early for early, late in pairwise(starts)} == {body["step_seconds"] * 1000}


def test_an_unknown_metric_is_refused_with_those_that_there_are(
    client: Client, deployment: Deployment
) -> None:
    answer = ask(client, deployment, "", metrics=["cpu"])
    assert answer.status_code == 400
    assert "`gpu_utilization`" in answer.json()["hint"]


def test_a_range_that_is_none_is_refused_by_the_names_that_it_was_given_by(
    client: Client, deployment: Deployment
) -> None:
    answer = ask(client, deployment, "", mode="SERIES", start_epoch_millis=0)
    assert answer.status_code == 400
    assert answer.json()["fields"] == ["start_epoch_millis", "end_epoch_millis"]
