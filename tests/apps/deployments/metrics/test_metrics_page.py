"""The Prometheus page, under the hosted product's names."""

from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from prometheus_client.parser import text_string_to_metric_families

from apps.accounts.models import Team
from apps.deployments.models import Deployment, ServedModel, SweepRecord
from apps.telemetry.models import UsageMinute
from apps.telemetry.services.usage import SetAside, UsageRecord, usage_add
from controlplane import clock
from tests.factories import make_api_key, make_deployment, make_replica, make_team
from tests.factories_serving import make_gateway

pytestmark = pytest.mark.django_db
EXPORT = "WORKSPACE_EXPORT_METRICS"


def test_requests_tokens_times_and_replicas_are_there(client: Client) -> None:
    deployment = make_deployment(environment="production")
    make_replica(deployment=deployment, metrics={"requests_running": 2.0, "requests_waiting": 1.0})
    make_replica(deployment=deployment, state="loading")
    for key_id, status in (("a", 200), ("b", 200), ("a", 500)):
        _count(deployment, key_id=key_id, status=status)
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
    assert samples["baseten_llm_input_tokens_total", _key(base)] == 45
    assert samples["baseten_llm_output_tokens_total", _key(base)] == 63
    assert samples["baseten_time_to_first_byte_seconds_count", _key(good)] == 6
    bucket = _key(good | {"le": "0.25"})
    assert samples["baseten_time_to_first_byte_seconds_bucket", bucket] == 6
    assert samples["baseten_replicas_active", _key(base)] == 1
    assert samples["baseten_replicas_starting", _key(base)] == 1
    assert samples["baseten_concurrent_requests", _key(base)] == 3


def test_what_is_shown_never_falls_and_no_request_is_looked_at_for_it(client: Client) -> None:
    deployment = make_deployment(environment="production")
    _count(deployment)
    key = make_api_key(team=deployment.model.team, type=EXPORT)
    before = _samples(client, key)
    UsageMinute.objects.all().delete()  # as pruning does, after its time
    assert _samples(client, key) == before
    with CaptureQueriesContext(connection) as asked:
        _samples(client, key)
    assert not [each for each in asked.captured_queries if "usageminute" in each["sql"]]


def test_its_queries_do_not_grow_with_what_there_is(client: Client) -> None:
    team = make_team()
    key = make_api_key(team=team, type=EXPORT)
    _samples(client, key)  # the first use of a key is noted
    counts = []
    for _ in range(2):
        make_replica(deployment=make_deployment(team=team, environment="production"))
        with CaptureQueriesContext(connection) as asked:
            _samples(client, key)
        counts.append(len(asked))
    assert counts[0] == counts[1]


def test_a_name_with_every_awkward_character_is_read_as_it_is(client: Client) -> None:
    deployment = make_deployment(environment="production")
    name = 'a "quoted"\\ name, {with} = signs'
    ServedModel.objects.update(name=name)
    samples = _samples(client, make_api_key(team=deployment.model.team, type=EXPORT))
    assert {dict(labels)["model_name"] for _, labels in samples} == {name}


def test_what_the_installation_missed_is_on_the_page_of_the_default_team(client: Client) -> None:
    SweepRecord.objects.create(id=1, missed=3)
    team = Team.objects.filter(is_default=True).first() or make_team(is_default=True)
    samples = _samples(client, make_api_key(team=team, type=EXPORT))
    assert samples["enginehouse_reconcile_missed_total", _key({})] == 3


def test_a_clock_that_is_wrong_is_on_the_page_of_the_default_team(client: Client) -> None:
    make_gateway(name="gw", clock_ahead_seconds=-3456000)
    team = Team.objects.filter(is_default=True).first() or make_team(is_default=True)
    samples = _samples(client, make_api_key(team=team, type=EXPORT))
    labels = _key({"kind": "gateway", "name": "gw"})
    assert samples["enginehouse_clock_ahead_seconds", labels] == -3456000


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


_COLUMNS = (
    "deployment_id", "environment", "status_class", "requests", "prompt_tokens",
    "completion_tokens", "duration_seconds_sum", "first_byte_seconds_sum", "duration_buckets",
    "first_byte_buckets",
)  # fmt: skip


def _count(deployment: Deployment, *, key_id: str = "a", status: int = 200) -> None:
    """Have a gateway hand in three requests, whose first byte came after 0.2 seconds."""
    record = {
        "request_id": "r", "state": "closed", "at": clock.now().timestamp(),
        "model_id": deployment.model_id, "deployment_id": deployment.id,
        "environment": "production", "key_id": key_id, "status": status, "stream": True,
        "prompt_tokens": 5, "completion_tokens": 7, "duration_seconds": 0.5,
        "first_byte_seconds": 0.2,
    }  # fmt: skip
    usage_add(
        team_ids={},
        journal=uuid4(), gateway_name="g", from_offset=0, to_offset=1,
        records=[UsageRecord.model_validate(record)] * 3, set_aside=SetAside(),
    )  # fmt: skip


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
