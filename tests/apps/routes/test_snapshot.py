"""What gateways get to know, and what they never do."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from apps.accounts.models import ApiKey
from apps.accounts.routes_version import routes_version_bump, routes_version_current
from apps.fleet.models import Gateway
from apps.fleet.selectors import gateways_have_applied
from apps.routes.snapshot import routes_snapshot
from controlplane import clock
from controlplane.domain.rules.examples import facts
from controlplane.domain.wire.routes import APPLIED_HEADER
from tests.factories import (
    make_api_key,
    make_deployment,
    make_environment,
    make_replica,
    make_team,
    make_user,
)
from tests.factories_serving import make_gateway
from workers.gateway.snapshot_reading import read

pytestmark = pytest.mark.django_db


def test_ready_replicas_are_reached_through_model_and_environment() -> None:
    deployment = make_deployment(environment="production")
    replica = make_replica(deployment=deployment)
    make_replica(deployment=deployment, state="draining")
    make_replica(deployment=deployment, state="ready", wanted="stopped")
    make_replica(deployment=deployment, state="loading", port=None)
    snapshot = routes_snapshot()
    assert (snapshot["format"], snapshot["version"]) == (1, routes_version_current())
    assert snapshot["models"] == {
        deployment.model_id: {
            "name": deployment.model.name,
            "team_id": deployment.model.team_id,
            "environments": {"production": deployment.id},
            "deployments": {
                deployment.id: {
                    "name": deployment.name,
                    "status": "ACTIVE",
                    "environment": "production",
                    "served_model_name": deployment.model.name,
                    "predict_route": "/v1/chat/completions",
                    "adapters": [],
                    "shares_prefixes": False,
                    "salts_every_route": False,
                    "default_max_tokens": None,
                    "has_own_words": False,
                    "translates_responses": True,
                    "route_table": "native 0.1",
                    "extra_routes": [],
                    "replicas": [{"id": replica.id, "host": "127.0.0.1", "port": 9000}],
                }
            },
        }
    }


def test_a_deployments_adapters_are_named_and_nothing_of_where_they_are_from() -> None:
    deployment = make_deployment(environment="production")
    place = {"source": "S3", "repo": "s3://weights/legal", "runtime_secret_name": "bucket_login"}
    deployment.spec["trt_llm"] = {"build": {"lora_adapters": {"polite": place, "legal": place}}}
    deployment.save()
    snapshot = routes_snapshot()
    outcome = snapshot["models"][deployment.model_id]["deployments"][deployment.id]
    assert outcome["adapters"] == ["legal", "polite"]
    assert outcome["served_model_name"] == deployment.model.name
    assert "s3://" not in json.dumps(snapshot)
    assert "bucket_login" not in json.dumps(snapshot)


@pytest.mark.parametrize(
    ("runtime", "architecture", "named", "route"),
    [
        ("native", "BertModel", None, "/v1/embeddings"),
        ("native", "BertForSequenceClassification", None, "/rerank"),
        ("native", "BertForSequenceClassification", "/predict", "/predict"),
        ("native", "BertForSequenceClassification", "/rerank", "/rerank"),
        ("native", "BertForTokenClassification", None, "/predict_tokens"),
        ("vllm", "BertModel", None, "/v1/embeddings"),
        ("vllm", "BertForSequenceClassification", None, "/rerank"),
        ("vllm", "BertForSequenceClassification", "/predict", "/classify"),
        ("vllm", "BertForTokenClassification", None, "/pooling"),
    ],
)
def test_predict_goes_where_the_engine_of_an_encoder_answers(
    runtime: str, architecture: str, named: str | None, route: str
) -> None:
    deployment = make_deployment(environment="production", runtime=runtime)
    deployment.spec["trt_llm"] = {
        "build": {"base_model": "encoder_bert"}, "runtime": {"webserver_default_route": named},
    }  # fmt: skip
    checkpoint = facts(architectures=[architecture], id2label={"0": "LABEL_0"})
    deployment.checkpoint = checkpoint.model_dump(mode="json")
    deployment.save()
    model = routes_snapshot()["models"][deployment.model_id]
    assert model["deployments"][deployment.id]["predict_route"] == route


@pytest.mark.parametrize("place", [("enginehouse",), ("model_metadata", "enginehouse")])
def test_a_config_may_let_the_keys_of_its_team_share_prefixes(place: tuple[str, ...]) -> None:
    deployment = make_deployment(environment="production")
    settings: dict[str, Any] = {"shared_prefixes": True}
    for name in reversed(place):
        settings = {name: settings}
    deployment.spec |= settings
    deployment.save()
    model = routes_snapshot()["models"][deployment.model_id]
    assert model["deployments"][deployment.id]["shares_prefixes"] is True


def test_a_deployments_routes_are_those_of_its_runtime_its_version_and_its_config() -> None:
    deployment = make_deployment(environment="production", runtime="vllm")
    make_replica(deployment=deployment, report={"version": "0.27.1"})
    deployment.spec["enginehouse"] = {"extra_routes": ["/tokenizer_info"]}
    deployment.save()
    snapshot = routes_snapshot()
    outcome = snapshot["models"][deployment.model_id]["deployments"][deployment.id]
    assert (outcome["route_table"], outcome["extra_routes"]) == ("vllm 0.25", ["/tokenizer_info"])
    table = snapshot["route_tables"]["vllm 0.25"]
    assert table["/v1/chat/completions"] == ["POST"]
    assert "/pause" not in table
    assert read(json.dumps(snapshot).encode()).models, "a gateway understands it"


@pytest.mark.parametrize(
    ("runtime", "salts"), [("native", False), ("vllm", True), ("trtllm", False)]
)
def test_every_route_is_salted_where_the_runtime_takes_it(runtime: str, salts: bool) -> None:
    deployment = make_deployment(environment="production", runtime=runtime)
    model = routes_snapshot()["models"][deployment.model_id]
    assert model["deployments"][deployment.id]["salts_every_route"] is salts
    assert model["deployments"][deployment.id]["has_own_words"] is (runtime == "trtllm")
    assert model["deployments"][deployment.id]["translates_responses"] is (runtime == "native")


@pytest.mark.parametrize(("runtime", "length"), [("native", None), ("vllm", 256), ("trtllm", 256)])
def test_a_default_length_is_the_gateways_where_the_engine_has_none(
    runtime: str, length: int | None
) -> None:
    deployment = make_deployment(environment="production", runtime=runtime)
    deployment.spec["trt_llm"]["runtime"] = {"request_default_max_tokens": 256}
    deployment.save()
    model = routes_snapshot()["models"][deployment.model_id]
    assert model["deployments"][deployment.id]["default_max_tokens"] == length


def test_an_environment_on_its_way_names_its_first_candidate() -> None:
    deployment = make_deployment(state="deploying")
    make_environment(model=deployment.model, name="production", candidate=deployment)
    model = routes_snapshot()["models"][deployment.model_id]
    assert model["environments"] == {"production": deployment.id}
    assert model["deployments"][deployment.id]["status"] == "DEPLOYING"


def test_keys_are_known_by_hash_with_scope_and_bounds() -> None:
    text = make_api_key(type="WORKSPACE_INVOKE", model_ids=["abc"])
    key = ApiKey.objects.get()
    assert routes_snapshot()["keys"] == {
        key.secret_sha256: {
            "id": key.id,
            "prefix": key.prefix,
            "scope": "invoke",
            "team_id": key.team_id,
            "model_ids": ["abc"],
            "environments": None,
            "expires_at": None,
            "limits": {
                "requests_per_minute": None,
                "tokens_per_minute": None,
                "parallel_requests": None,
                "spent_until": None,
            },
        }
    }
    assert text not in json.dumps(routes_snapshot())


def test_keys_that_no_longer_work_are_absent() -> None:
    now = clock.now()
    make_api_key(revoked_at=now)
    make_api_key(expires_at=now)
    make_api_key(user=make_user(is_active=False), type="PERSONAL")
    assert routes_snapshot()["keys"] == {}


def test_nothing_of_configs_or_secrets_is_in_it() -> None:
    team = make_team()
    deployment = make_deployment(team=team, environment="production")
    deployment.spec = {
        **deployment.spec,
        "environment_variables": {"TOKEN": "hush"},
        "secrets": {"hf_access_token": None},
    }
    deployment.save()
    text = json.dumps(routes_snapshot())
    assert "hush" not in text
    assert "hf_access_token" not in text
    assert "checkpoint" not in text


def test_its_queries_do_not_grow_with_what_there_is(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    for _ in range(3):
        make_replica(deployment=make_deployment(environment="production"))
        make_api_key()
    with django_assert_num_queries(5):
        routes_snapshot()


def test_a_gateway_asks_after_its_version_and_says_what_it_applied(client: Client) -> None:
    gateway = make_gateway(last_seen_at=None)
    send = _as(client, gateway.name)
    with transaction.atomic():
        routes_version_bump()  # from nothing, where another test emptied the tables
    version = send("GET", "routes?after=0").json()["version"]
    assert send("GET", f"routes?after={version}&gateway={gateway.id}").status_code == 204
    with transaction.atomic():
        routes_version_bump()
    assert send("GET", f"routes?after={version}").json()["version"] == version + 1
    assert send("POST", "gateways/applied", {"version": version + 1}).json() == {}
    send("POST", "gateways/applied", {"version": version})
    stored = Gateway.objects.get()
    assert stored.applied_version == version + 1, "an older report changes nothing"
    assert stored.last_seen_at is not None


def test_a_poll_says_what_is_applied_and_takes_one_statement_where_nothing_changed(
    client: Client, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    gateway = make_gateway()
    send = _as(client, gateway.name)
    routes_version_bump()
    content = send("GET", "routes?after=0&format=2").json()
    current = f"routes?after={content['version']}&digest={content['digest']}&format=2"
    with django_assert_num_queries(1):
        answer = send("GET", f"{current}&applied={content['version']}")
    assert (answer.status_code, answer[APPLIED_HEADER]) == (204, str(content["version"]))
    assert Gateway.objects.get().applied_version == content["version"]
    assert APPLIED_HEADER not in send("GET", current).headers
    send("GET", f"{current}&applied=0")
    assert Gateway.objects.get().applied_version == content["version"], (
        "an older one changes nothing"
    )


@pytest.mark.parametrize("by_poll", [True, False])
def test_a_version_of_before_the_database_was_put_back_is_not_applied(
    client: Client, by_poll: bool
) -> None:
    gateway = make_gateway()
    send = _as(client, gateway.name)
    version = routes_version_bump()
    for ahead, expected in ((5, 0), (0, version)):
        if by_poll:
            send("GET", f"routes?after={version}&format=2&applied={version + ahead}")
        else:
            send("POST", "gateways/applied", {"version": version + ahead})
        assert Gateway.objects.get().applied_version == expected
    assert not gateways_have_applied(routes_version_bump(keys=["a"])), "it has not seen that one"


def test_what_was_noted_of_a_later_version_is_forgotten_by_the_next_poll(client: Client) -> None:
    version = routes_version_bump()
    gateway = make_gateway(applied_version=version + 5)
    _as(client, gateway.name)("GET", f"routes?after={version}&format=2&applied={version}")
    assert Gateway.objects.get().applied_version == version


def test_a_stranger_gets_nothing(client: Client) -> None:
    send = _as(client, "stranger")
    assert send("GET", "routes?after=0").status_code == 401
    assert send("POST", "usage", {}).status_code == 401
    assert client.get("/internal/v1/routes").status_code == 401
    key = make_api_key()
    assert _as(client, key)("GET", "routes?after=0").status_code == 401


def _as(client: Client, credential: str) -> Callable[..., Any]:
    def send(method: str, path: str, body: Any = None) -> Any:
        return client.generic(
            method,
            f"/internal/v1/{path}",
            json.dumps(body) if body is not None else "",
            content_type="application/json",
            headers={"Authorization": f"Bearer {credential}"},
        )

    return send
