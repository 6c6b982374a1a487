"""What is not on an engine's list reaches no engine, however it is written."""

import json

import pytest

from tests.workers.gateway.stage.connections import read_answer, request_bytes
from tests.workers.gateway.stage.routes import routes
from tests.workers.gateway.stage.scripts import answers
from workers.gateway.snapshot_reading import read

BASE = "/m/modelaaa/production/sync"
CLOSED = [
    "pause", "resume", "abort_requests", "scale_elastic_ep", "init_weight_transfer_engine",
    "is_scaling_elastic_ep", "update_weights", "%75pdate_weights", "Pause", "PAUSE", "pause/",
    "v1/load_lora_adapter", "sleep", "collective_rpc", "release_memory", "kv_cache_events",
    "steady_clock_offset", "perf_metrics", "_internal/tokenize", "server_info", "docs",
    "openapi.json", "redoc", "V1/chat/completions", "v1/chat/completions/", "v1//completions",
    "v1/chat/completions;x", "v1/responses/resp_1", "v1/audio/transcriptions", "metrics/",
    "v1/chat/completions%20", "v1/chat/completions%3f", "prometheus/metrics", "v1/realtime",
]  # fmt: skip


@pytest.mark.parametrize("route", CLOSED)
@pytest.mark.parametrize("method", ["POST", "GET"])
def test_a_route_that_is_not_on_the_list_reaches_no_engine(serve, route, method):
    gateway, engine = serve(answers)

    with gateway.connect() as client:
        client.sendall(request_bytes(path=f"{BASE}/{route}", method=method))
        assert read_answer(client)[0] in (400, 404, 405)

    assert engine.calls == []


@pytest.mark.parametrize(
    ("method", "route", "allowed"),
    [
        ("GET", "v1/chat/completions", "POST"),
        ("POST", "v1/models", "GET, HEAD"),
        ("DELETE", "v1/models", "GET, HEAD"),
        ("OPTIONS", "v1/completions", "POST"),
    ],
)
def test_a_route_takes_the_methods_of_its_list_alone(serve, http, method, route, allowed):
    gateway, engine = serve(answers)

    answer = http.request(method, f"{gateway.url}{BASE}/{route}")

    assert (answer.status_code, answer.headers["allow"]) == (405, allowed)
    assert engine.calls == []


def test_a_config_opens_other_routes_by_name_and_their_answers_are_not_read(house, http):
    engine = house.engine(answers)
    house.publish(engine, extra_routes=["/pause"])
    gateway = house.gateway()

    answer = http.post(f"{gateway.url}{BASE}/pause", content=b"no json")

    assert (answer.status_code, engine.calls[0].path) == (200, "/pause")
    assert house.record_of(answer)["route"] == "/pause"
    assert house.record_of(answer)["is_extra_route"] is True
    listed = http.post(f"{gateway.url}{BASE}/v1/completions", json={})
    assert house.record_of(listed)["is_extra_route"] is False
    assert http.post(f"{gateway.url}{BASE}/resume").status_code == 404


def test_the_routes_of_the_hosted_product_are_open_where_no_table_is_named(house, http):
    snapshot = routes(house.engine(answers).port)
    del snapshot["route_tables"]
    house.publish_snapshot(snapshot)
    gateway = house.gateway()

    for route in ("v1/chat/completions", "v1/completions", "v1/embeddings", "rerank", "predict"):
        assert http.post(f"{gateway.url}{BASE}/{route}", json={}).status_code == 200
    assert http.get(f"{gateway.url}{BASE}/v1/models").status_code == 200
    assert http.post(f"{gateway.url}{BASE}/tokenize", json={}).status_code == 404


def test_deployments_of_one_engine_share_one_table():
    snapshot = routes(1)
    for model in snapshot["models"].values():
        for deployment in model["deployments"].values():
            deployment["extra_routes"] = []
    tables = {
        id(deployment.routes)
        for model in read(json.dumps(snapshot).encode()).models.values()
        for deployment in model.deployments.values()
    }
    assert len(tables) == 1


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("stream", value) for value in ('"true"', "1", "0", "1.0", '"yes"', "[]", "{}", '""')),
        *(("stream_options", value) for value in ("true", "[]", '"{}"')),
        *(("background", value) for value in ("true", '"true"', "1")),
        *(("previous_response_id", value) for value in ('"resp_1"', '""', "1", "[]")),
    ],
)
@pytest.mark.parametrize("route", ["v1/chat/completions", "v1/responses", "v1/messages"])
def test_what_engines_would_take_for_a_stream_is_refused(serve, http, field, value, route):
    gateway, engine = serve(answers)

    body = b'{"model":"served","%b":%b}' % (field.encode(), value.encode())
    answer = http.post(f"{gateway.url}{BASE}/{route}", content=body)

    assert answer.status_code == 400
    assert answer.json()["detail"].startswith(f"`{field}` is `")
    assert engine.calls == []


def test_a_stream_is_looked_for_on_routes_that_know_none(serve, http):
    gateway, engine = serve(answers)
    answer = http.post(f"{gateway.url}{BASE}/rerank", json={"query": "a", "stream": "true"})
    assert (answer.status_code, engine.calls) == (400, [])


@pytest.mark.parametrize("value", ["true", "false", "null"])
def test_a_stream_is_true_false_or_null(serve, http, value):
    gateway, engine = serve(answers)
    body = b'{"model":"served","stream":%b}' % value.encode()
    assert http.post(f"{gateway.url}{BASE}/v1/completions", content=body).status_code == 200
    assert len(engine.calls) == 1


@pytest.mark.parametrize(
    "body", [b"{", b"\xff", b"--part", b"{'stream':1}", b'{"a":%b}' % (b"7" * 5000)]
)
def test_what_is_no_json_is_refused_before_an_engine_guesses(serve, http, body):
    gateway, engine = serve(answers)

    answer = http.post(f"{gateway.url}{BASE}/v1/chat/completions", content=body)

    assert answer.status_code == 400
    assert answer.json()["detail"].startswith("The body is not JSON: ")
    assert engine.calls == []
