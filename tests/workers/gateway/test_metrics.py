"""/health and /metrics."""

import httpx
import pytest
from prometheus_client.openmetrics.parser import (
    text_string_to_metric_families as openmetrics_families,
)
from prometheus_client.parser import text_string_to_metric_families

from tests.waiting import DEADLINE_SECONDS
from tests.workers.gateway.stage.connections import NO_AUTHORITIES
from tests.workers.gateway.stage.engine import Call
from tests.workers.gateway.stage.routes import CHAT, FOREIGN_METRICS_KEY, KEY, METRICS_KEY
from tests.workers.gateway.stage.scripts import answers, piece


def page(http: httpx.Client, url: str, key: str = METRICS_KEY) -> httpx.Response:
    return http.get(f"{url}/metrics", headers={"authorization": f"Api-Key {key}"})


def samples(text: str) -> dict[tuple[str, str], float]:
    """Return the samples of a page by name and the label that tells them apart."""
    values = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels = sample.labels
            answer = labels.get("status_class") or labels.get("reason") or labels.get("le")
            values[sample.name, answer or labels.get("status", "")] = sample.value
    return values


def test_health_needs_no_key_and_names_the_routes_it_serves(serve):
    gateway, _ = serve(answers)

    with httpx.Client(timeout=DEADLINE_SECONDS, verify=NO_AUTHORITIES) as nobody:
        answer = nobody.get(f"{gateway.url}/health")
        head = nobody.head(f"{gateway.url}/health")

    assert (answer.status_code, answer.json()) == (200, {"status": "ok", "snapshot_version": 1})
    assert head.content == b""


def test_requests_are_counted_by_deployment_and_status_class(house, http):
    def slow(call: Call) -> None:
        house.clock.advance(2.5)
        answers(call)

    engine = house.engine(slow)
    house.publish(engine)
    url = house.gateway().url

    def breaks(call: Call) -> None:
        call.begin_stream()
        call.event(piece("x"))
        call.connection.close()
        raise OSError

    http.post(url + CHAT, headers={"authorization": "Bearer wrong"})
    http.post(url + CHAT, json={})
    engine.script = lambda call: call.answer({"error": "no"}, 400)
    http.post(url + CHAT, json={})
    engine.script = breaks
    http.post(url + CHAT, json={"stream": True})
    outcome = samples(page(http, url).text)

    assert outcome["gateway_requests_total", "2xx"] == 1
    assert outcome["gateway_requests_total", "4xx"] == 1
    assert outcome["gateway_requests_total", "5xx"] == 1
    assert outcome["gateway_requests_refused_total", "401"] == 1
    assert outcome["gateway_upstream_errors_total", "reset"] == 1
    assert outcome["gateway_requests_in_flight", ""] == 0
    assert outcome["gateway_snapshot_version", ""] == 1
    assert outcome["gateway_request_duration_seconds_count", ""] == 3
    assert outcome["gateway_time_to_first_byte_seconds_bucket", "+Inf"] == 3
    assert outcome["gateway_request_duration_seconds_sum", ""] == 2.5


def test_openmetrics_names_the_request_that_each_bucket_saw_last(serve, http):
    gateway, _ = serve(answers)
    sent = http.post(gateway.url + CHAT, json={})

    accepted = {"authorization": f"Api-Key {METRICS_KEY}", "accept": "application/openmetrics-text"}
    answer = http.get(f"{gateway.url}/metrics", headers=accepted)

    assert answer.headers["content-type"].startswith("application/openmetrics-text; version=1.0.0")
    families = {each.name: each for each in openmetrics_families(answer.text)}
    samples = families["gateway_request_duration_seconds"].samples
    (named,) = (each.exemplar for each in samples if each.exemplar)
    assert named.labels == {"request_id": sent.headers["x-request-id"]}


def test_a_key_sees_the_metrics_of_its_own_team_only(serve, http):
    gateway, _ = serve(answers)
    http.post(gateway.url + CHAT, json={})

    foreign = page(http, gateway.url, FOREIGN_METRICS_KEY).text
    assert "modelaaa" in page(http, gateway.url).text
    assert "modelaaa" not in foreign
    assert "gateway_snapshot_version 1.0" in foreign


@pytest.mark.parametrize(("key", "status"), [(METRICS_KEY, 200), (KEY, 403), ("wrong", 401)])
def test_metrics_need_a_key_that_may_read_them(serve, http, key, status):
    gateway, _ = serve(answers)

    assert page(http, gateway.url, key).status_code == status
