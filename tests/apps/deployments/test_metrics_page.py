"""The Prometheus page, under the hosted product's names."""

from typing import Any

import pytest
from django.test import Client
from prometheus_client.parser import text_string_to_metric_families

from apps.telemetry import buckets
from apps.telemetry.models import UsageMinute
from controlplane import clock
from tests.factories import make_api_key, make_deployment, make_replica, make_team

pytestmark = pytest.mark.django_db
EXPORT = "WORKSPACE_EXPORT_METRICS"


def test_requests_tokens_times_and_replicas_are_there(client: Client) -> None:
    deployment = make_deployment(environment="production")
    make_replica(deployment=deployment, metrics={"requests_running": 2.0, "requests_waiting": 1.0})
    make_replica(deployment=deployment, state="loading")
    counts = buckets.empty()
    counts[buckets.index_of(0.2)] = 3
    for key_id, status_class in (("a", 2), ("b", 2), ("a", 5)):
        UsageMinute.objects.create(
            minute=clock.now(),
            model_id=deployment.model_id,
            deployment_id=deployment.id,
            environment="production",
            key_id=key_id,
            status_class=status_class,
            requests=3,
            prompt_tokens=5,
            completion_tokens=7,
            first_byte_seconds_sum=0.6,
            first_byte_buckets=counts if status_class == 2 else [],
        )
    samples = _samples(client, make_api_key(team=deployment.model.team, type=EXPORT))
    base = {
        "model_id": deployment.model_id,
        "model_name": deployment.model.name,
        "deployment_id": deployment.id,
        "environment": "production",
        "rollout_phase": "stable",
    }
    good = {**base, "status_code": "2xx", "is_async": "false"}
    assert samples["baseten_inference_requests_total", _key(good)] == 6
    assert samples["baseten_inference_requests_total", _key(good | {"status_code": "5xx"})] == 3
    assert samples["baseten_llm_output_tokens_total", _key(base)] == 21
    assert samples["baseten_time_to_first_byte_seconds_count", _key(good)] == 6
    bucket = _key(good | {"le": "0.25"})
    assert samples["baseten_time_to_first_byte_seconds_bucket", bucket] == 6
    assert samples["baseten_replicas_active", _key(base)] == 1
    assert samples["baseten_replicas_starting", _key(base)] == 1
    assert samples["baseten_concurrent_requests", _key(base)] == 3


def test_an_outsider_sees_nothing_of_it(client: Client) -> None:
    make_deployment()
    assert _samples(client, make_api_key(team=make_team(), type=EXPORT)) == {}


def test_the_page_says_which_requests_have_a_time_to_first_byte(client: Client) -> None:
    key = make_api_key(type=EXPORT)
    text = client.get("/metrics", headers={"Authorization": f"Api-Key {key}"}).content.decode()
    name = "baseten_time_to_first_byte_seconds"
    assert f"# HELP {name} From request to first byte, of streamed requests only." in text


def test_a_key_for_calling_models_is_refused(client: Client) -> None:
    key = make_api_key(type="WORKSPACE_INVOKE")
    answer = client.get("/metrics", headers={"Authorization": f"Bearer {key}"})
    assert answer.status_code == 403
    assert client.get("/metrics").status_code == 401


def _samples(client: Client, key: str) -> dict[Any, float]:
    answer = client.get("/metrics", headers={"Authorization": f"Api-Key {key}"})
    assert answer.status_code == 200
    return {
        (sample.name, _key(sample.labels)): sample.value
        for family in text_string_to_metric_families(answer.content.decode())
        for sample in family.samples
    }


def _key(labels: dict[str, str]) -> frozenset[tuple[str, str]]:
    return frozenset(labels.items())
