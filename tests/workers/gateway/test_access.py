"""Who may call what, and what the others learn: nothing."""

import pytest

from tests.workers.gateway.stage.routes import (
    CHAT,
    EXPIRED_KEY,
    FOREIGN_KEY,
    KEY,
    METRICS_KEY,
    STAGING_KEY,
    digest,
    key_row,
    routes,
)
from tests.workers.gateway.stage.scripts import answers


@pytest.mark.parametrize("scheme", ["Bearer", "Api-Key", "bearer", "API-KEY"])
def test_both_ways_to_name_a_key_are_accepted(serve, http, scheme):
    gateway, _ = serve(answers)

    answer = http.post(gateway.url + CHAT, json={}, headers={"authorization": f"{scheme} {KEY}"})

    assert answer.status_code == 200


@pytest.mark.parametrize(
    "authorization",
    [
        "",
        "Bearer",
        f"Bearer {KEY}x",
        f"Basic {KEY}",
        f"Bearer {EXPIRED_KEY}",
        KEY,
        f"Bearer {digest(KEY)}",
    ],
)
def test_anything_else_is_401_and_reaches_no_engine(serve, http, authorization):
    gateway, engine = serve(answers)

    answer = http.post(gateway.url + CHAT, json={}, headers={"authorization": authorization})

    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"
    assert answer.json()["error_code"] == "unauthorized"
    assert engine.calls == []


def test_a_foreign_model_and_an_unknown_one_get_the_same_answer(serve, http):
    gateway, engine = serve(answers)
    path = "/m/{}/environments/production/sync/v1/chat/completions"

    foreign, unknown = (
        http.post(gateway.url + path.format(id), json={}) for id in ("modelbbb", "modelzzz")
    )

    assert (foreign.status_code, unknown.status_code) == (404, 404)
    assert foreign.text == unknown.text.replace("modelzzz", "modelbbb")
    assert set(foreign.headers) == set(unknown.headers)
    assert engine.calls == []


def test_a_key_of_another_team_calls_its_own_model_only(serve, http):
    gateway, _ = serve(answers)
    bearer = {"authorization": f"Bearer {FOREIGN_KEY}"}

    url = gateway.url + CHAT
    assert http.post(url, json={}, headers=bearer).status_code == 404
    own = url.replace("modelaaa", "modelbbb")
    assert http.post(own, json={}, headers=bearer).status_code == 200


@pytest.mark.parametrize("target", ["environments/production", "deployment/deploy01"])
def test_a_key_for_one_environment_reaches_no_other(serve, http, target):
    gateway, engine = serve(answers)

    answer = http.post(
        f"{gateway.url}/m/modelaaa/{target}/predict",
        json={},
        headers={"authorization": f"Bearer {STAGING_KEY}"},
    )

    assert answer.status_code == 404
    assert engine.calls == []


def test_a_key_for_some_models_does_not_see_the_rest(house, http):
    snapshot = routes(house.engine(answers).port)
    snapshot["keys"][digest(KEY)] = key_row("keyaaaaa", model_ids=["other"])
    house.publish_snapshot(snapshot)

    assert http.post(house.gateway().url + CHAT, json={}).status_code == 404


def test_a_key_is_accepted_until_it_expires(house, http):
    snapshot = routes(house.engine(answers).port)
    expires_at = house.clock.time() + 60
    snapshot["keys"][digest(KEY)] = key_row("keyaaaaa", expires_at=expires_at)
    house.publish_snapshot(snapshot)
    url = house.gateway().url + CHAT

    assert http.post(url, json={}).status_code == 200
    house.clock.advance(60)
    assert http.post(url, json={}).status_code == 401


def test_a_metrics_key_reads_metrics_and_calls_nothing(serve, http):
    gateway, engine = serve(answers)
    bearer = {"authorization": f"Bearer {METRICS_KEY}"}

    assert http.post(gateway.url + CHAT, json={}, headers=bearer).status_code == 403
    assert engine.calls == []
    url = f"{gateway.url}/m/modelaaa/production/sync/metrics"
    assert http.get(url, headers=bearer).status_code == 200


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/m/modelaaa/development/predict", "has no development deployment"),
        ("/m/modelaaa/environments/nowhere/predict", "has no environment `nowhere`"),
        ("/m/modelaaa/deployment/nowhere/predict", "has no deployment `nowhere`"),
        ("/m/modelaaa/deployment/stopped0/predict", "is deactivated"),
        ("/m/modelaaa/production/websocket", "`websocket` is not served here"),
        ("/m/modelaaa/production/sync/update_weights", "is not open to clients"),
        ("/v1/chat/completions", "Nothing is served at"),
        ("/", "Nothing is served at"),
    ],
)
def test_a_path_without_an_answer_says_why(serve, http, path, words):
    gateway, engine = serve(answers)

    answer = http.post(gateway.url + path, json={})

    assert answer.status_code == 404
    assert words in answer.json()["detail"]
    assert engine.calls == []


def test_errors_under_v1_are_objects_and_elsewhere_text(serve, http):
    gateway, _ = serve(answers)
    base = f"{gateway.url}/m/modelzzz/production"

    under_v1 = http.post(f"{base}/sync/v1/embeddings", json={}).json()
    elsewhere = http.post(f"{base}/predict", json={}).json()

    assert set(under_v1["error"]) == {"message", "type", "code", "param"}
    assert under_v1["error"]["code"] == "model_not_found"
    assert under_v1["error"]["message"] == under_v1["detail"] == elsewhere["error"]
    assert under_v1["error_code"] == elsewhere["error_code"] == "model_does_not_exist"


def test_the_openai_client_shows_the_message(serve):
    import openai  # here, since it takes a second

    gateway, _ = serve(answers)
    base_url = f"{gateway.url}/m/modelzzz/environments/production/sync/v1"

    with (
        openai.OpenAI(base_url=base_url, api_key=KEY) as client,
        pytest.raises(openai.NotFoundError, match="There is no model `modelzzz`") as caught,
    ):
        client.models.list()
    assert caught.value.code == "model_not_found"


@pytest.mark.parametrize(
    ("body", "message", "code"),
    [
        ({"object": "error", "message": "bad top_p", "code": 400}, "bad top_p", None),
        ({"error": "schema says no"}, "schema says no", None),
        (b"<html>oops</html>", "<html>oops</html>", None),
        ({"message": "exceeds the maximum context length"}, "exceeds", "context_length_exceeded"),
        ({"error": {"message": "fine", "code": "kept"}}, "fine", "kept"),
    ],
)  # fmt: skip
def test_an_engines_error_reaches_openai_clients_in_their_shape(serve, http, body, message, code):
    gateway, _ = serve(lambda call: call.answer(body, 400))

    answer = http.post(gateway.url + CHAT, json={})

    assert answer.status_code == 400
    assert message in answer.json()["error"]["message"]
    assert answer.json()["error"]["code"] == code


def test_a_revoked_key_is_refused_once_routes_say_so(house, http):
    house.publish(engine := house.engine(answers))
    gateway = house.gateway()
    assert http.post(gateway.url + CHAT, json={}).status_code == 200

    snapshot = routes(engine.port, version=2)
    del snapshot["keys"][digest(KEY)]
    house.publish_snapshot(snapshot)

    assert http.post(gateway.url + CHAT, json={}).status_code == 401


@pytest.mark.parametrize(
    "path",
    [
        CHAT,
        CHAT.replace("/completions", "/%63ompletions"),
        CHAT.replace("v1/chat/completions", "echo"),
    ],
)
def test_an_adapter_of_a_clients_own_is_refused_on_every_route(serve, http, path):
    gateway, engine = serve(answers)

    answer = http.post(gateway.url + path, json={"lora_request": {"lora_path": "/etc"}})

    assert answer.status_code == 400
    message = answer.json()["detail"]
    assert message == "`lora_request` is not taken from clients: name the adapter in `model`."
    assert engine.calls == []


def test_only_a_key_of_a_benchmark_marks_its_requests_and_it_always_does(house, http):
    snapshot = routes(house.engine(answers).port)
    snapshot["keys"][digest(FOREIGN_KEY)] = key_row("keybench", traffic_mark="benchmark")
    house.publish_snapshot(snapshot)
    url = house.gateway().url + CHAT
    benchmark = {"authorization": f"Bearer {FOREIGN_KEY}"}
    mark = {"x-enginehouse-traffic": "benchmark"}

    refused = [http.post(url, json={}, headers=each) for each in (mark, benchmark)]
    marked = http.post(url, json={}, headers={**benchmark, **mark})

    assert [each.status_code for each in refused] == [403, 403]
    assert all("x-enginehouse-traffic" in each.json()["detail"] for each in refused)
    assert marked.status_code == 200
