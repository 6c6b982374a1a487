"""The Prometheus page, under the hosted product's names."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from prometheus_client.openmetrics.parser import (
    text_string_to_metric_families as openmetrics_families,
)
from prometheus_client.parser import text_string_to_metric_families

from apps.accounts.models import Team
from apps.deployments.metrics.sampling import series_sample
from apps.deployments.models import Replica, ServedModel, SweepRecord
from apps.telemetry.models import SeriesBucket, UsageMinute
from apps.telemetry.series.services import series_fold
from controlplane.clock import now
from tests.factories import (
    make_api_key,
    make_deployment,
    make_device,
    make_lease,
    make_replica,
    make_team,
)
from tests.factories_serving import make_gateway
from tests.factories_traffic import make_requests

pytestmark = pytest.mark.django_db
EXPORT = "WORKSPACE_EXPORT_METRICS"


def test_requests_tokens_times_and_replicas_are_there(client: Client) -> None:
    deployment = make_deployment(environment="production")
    make_replica(deployment=deployment, metrics={"requests_running": 2.0, "requests_waiting": 1.0})
    make_replica(deployment=deployment, state="loading")
    for key_id, status in (("a", 200), ("b", 200), ("a", 500)):
        make_requests(deployment, 3, key_id=key_id, status=status)
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
    assert samples["enginehouse_llm_cached_input_tokens_total", _key(base)] == 18
    assert samples["baseten_time_to_first_byte_seconds_count", _key(good)] == 6
    assert samples["baseten_request_size_bytes_sum", _key(good)] == 5400
    assert samples["baseten_llm_input_tokens_per_request_count", _key(base)] == 9
    assert samples["baseten_llm_kv_cache_hit_rate_sum", _key(base)] == pytest.approx(9 * 0.4)
    assert samples["baseten_llm_tokens_per_second_per_request_sum", _key(base)] == pytest.approx(
        9 * 6 / 0.3
    )
    bucket = _key(good | {"le": "0.25"})
    assert samples["baseten_time_to_first_byte_seconds_bucket", bucket] == 6
    assert samples["baseten_replicas_active", _key(base)] == 1
    assert samples["baseten_replicas_starting", _key(base)] == 1
    assert samples["baseten_concurrent_requests", _key(base)] == 3
    ready = _key(base | {"condition": "true"})
    assert samples["baseten_pod_readiness", ready] == 1
    name = "baseten_container_restarts_total"
    assert [value for key, value in samples.items() if key[0] == name] == []


def test_what_engines_and_gpus_say_is_there_by_replica(client: Client) -> None:
    deployment = make_deployment()
    replica = make_replica(deployment=deployment)
    gpu = make_device(kind="H100", index=3, used_bytes=3 * 1024**2, utilization_percent=40)
    make_lease(device=gpu, holder=f"replica:{replica.id}")
    began = now()
    for passed, drafts in ((0, 7.0), (15, 17.0)):
        at = began + timedelta(seconds=passed)
        values = {"requests_running": 2.0, "draft_tokens_total": drafts,
                "accepted_draft_tokens_total": drafts / 2}  # fmt: skip
        Replica.objects.filter(id=replica.id).update(metrics=values, observed_at=at)
        series_sample(now=at)
    failed = make_replica(deployment=deployment, state="failed")
    Replica.objects.filter(id=failed.id).update(finished_at=at + timedelta(seconds=1))
    series_sample(now=at + timedelta(seconds=15))
    series_fold()
    samples = _samples(client, make_api_key(team=deployment.model.team, type=EXPORT))
    table = {
        (name, dict(labels).get("replica")): value for (name, labels), value in samples.items()
    }
    assert table["baseten_llm_spec_decode_num_draft_tokens_total", replica.id] == 10
    assert table["baseten_llm_spec_decode_num_accepted_tokens_total", replica.id] == 5
    assert table["baseten_llm_num_requests", replica.id] == 2
    assert table["baseten_gpu_memory_used", replica.id] == 3
    assert table["baseten_gpu_utilization", replica.id] == 40
    assert table["baseten_container_restarts_total", None] == 1


def test_openmetrics_names_a_request_of_each_bucket(client: Client) -> None:
    deployment = make_deployment(environment="production")
    make_requests(deployment, 2, request_id='a "quoted" id')
    make_requests(deployment, request_id="slow", first_seconds=0.4)
    key = make_api_key(team=deployment.model.team, type=EXPORT)
    accepted = "application/openmetrics-text;version=1.0.0;q=0.5,*/*;q=0.1"
    headers = {"Authorization": f"Api-Key {key}", "Accept": accepted}
    answer = client.get("/metrics", headers=headers)
    assert answer["Content-Type"].startswith("application/openmetrics-text; version=1.0.0")
    families = list(openmetrics_families(answer.getvalue().decode()))
    assert len(families) == len({each.name for each in families}) > 20
    (first,) = (each for each in families if each.name == "baseten_time_to_first_byte_seconds")
    named = {each.labels["le"]: each.exemplar for each in first.samples if each.exemplar}
    assert named["0.25"].labels == {"request_id": 'a "quoted" id'}
    assert (named["0.5"].labels, named["0.5"].value) == ({"request_id": "slow"}, 0.4)


def test_what_is_shown_never_falls_and_no_request_is_looked_at_for_it(client: Client) -> None:
    deployment = make_deployment(environment="production")
    make_requests(deployment, 3)
    key = make_api_key(team=deployment.model.team, type=EXPORT)
    before = _samples(client, key)
    UsageMinute.objects.all().delete()  # as pruning does, after its time
    SeriesBucket.objects.all().delete()
    assert _samples(client, key) == before
    make_requests(deployment, 2)
    after = _samples(client, key)
    good = {each for each in after if each[0] == "baseten_inference_requests_total"}
    assert [after[each] - before[each] for each in good] == [2]


def test_its_queries_do_not_grow_with_what_there_is(client: Client) -> None:
    team = make_team()
    key = make_api_key(team=team, type=EXPORT)
    _samples(client, key)  # the first use of a key is noted
    counts = []
    for _ in range(2):
        make_replica(deployment=make_deployment(team=team, environment="production"))
        with CaptureQueriesContext(connection) as capture_queries_context:
            _samples(client, key)
        counts.append(len(capture_queries_context))
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


def test_who_accepts_text_alone_is_given_text(client: Client) -> None:
    headers = {"Authorization": f"Api-Key {make_api_key(type=EXPORT)}", "Accept": "text/plain"}
    answer = client.get("/metrics", headers=headers)
    assert answer["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"


def test_an_outsider_sees_nothing_of_it(client: Client) -> None:
    make_deployment()
    assert _samples(client, make_api_key(team=make_team(), type=EXPORT)) == {}


def test_the_page_says_which_requests_have_a_time_to_first_byte(client: Client) -> None:
    key = make_api_key(type=EXPORT)
    text = client.get("/metrics", headers={"Authorization": f"Api-Key {key}"}).getvalue().decode()
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
        for family in text_string_to_metric_families(answer.getvalue().decode())
        for sample in family.samples
    }


def _key(labels: dict[str, str]) -> frozenset[tuple[str, str]]:
    return frozenset(labels.items())
