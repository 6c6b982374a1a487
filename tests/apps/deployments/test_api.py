"""The hosted product's paths and objects, and what an outsider gets of them: nothing."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from apps.accounts.models import ApiKeyType, Team
from apps.accounts.routes_version import routes_version_current
from apps.deployments.models import Deployment, ServedModel
from apps.deployments.services.reconcile import deployment_settle
from apps.routes.rows import routes_rows
from apps.telemetry.logs import log_append
from tests.factories import make_api_key, make_build, make_team
from tests.factories_serving import make_servable_build

PROMOTION_SIGNALS = ("cancel", "pause", "resume", "force_cancel", "force_roll_forward")
pytestmark = pytest.mark.django_db

Served = tuple[ServedModel, Deployment]
Call = Callable[..., Any]


@pytest.fixture
def call(client: Client, team: Team) -> Call:
    """Send a request with a full key of the team, or with another key."""
    own = make_api_key(team=team)

    def send(method: str, path: str, body: Any = None, *, key: str = own) -> Any:
        return client.generic(
            method,
            f"/v1/{path}",
            data=json.dumps(body) if body is not None else "",
            content_type="application/json",
            headers={"Authorization": f"Bearer {key}"},
        )

    return send


def test_a_model_is_made_from_a_build(call: Call, team: Team) -> None:
    build = make_servable_build(team=team)
    source = {"kind": "build", "build_id": build.id}
    answer = call("POST", "models", {"name": "chat", "source": source})
    assert answer.status_code == 201, answer.content
    model, deployment = answer.json()["model"], answer.json()["deployment"]
    assert model["name"] == "chat"
    assert model["team_name"] == team.name
    assert deployment["status"] == "DEPLOYING"
    assert deployment["build_id"] == build.id
    assert call("POST", "models", {"name": "chat", "source": source}).status_code == 409
    assert [each["id"] for each in call("GET", "models").json()["models"]] == [model["id"]]
    assert call("GET", "models?name=other").json()["models"] == []


def test_wrong_bodies_name_the_field(call: Call, team: Team) -> None:
    failed = make_build(team=team, state="failed")
    elsewhere = make_servable_build(team=make_team())
    for build_id in ("nothere", failed.id, elsewhere.id):
        source = {"kind": "build", "build_id": build_id}
        answer = call("POST", "models", {"name": "chat", "source": source})
        assert answer.status_code == 400
        assert answer.json()["fields"] == ["source.build_id"]
    assert call("POST", "models", {"name": "chat", "sauce": {}}).json()["code"] == "unknown_field"


def test_a_deployment_object_has_the_hosted_fields(call: Call, served: Served) -> None:
    model, deployment = served
    body = call("GET", f"models/{model.id}/deployments/{deployment.id}").json()
    hosted = {
        "id", "created_at", "name", "model_id", "is_production", "is_development", "status",
        "active_replica_count", "autoscaling_settings", "instance_type_name", "environment",
        "labels", "region", "request_backpressure_settings",
    }  # fmt: skip
    assert hosted <= set(body)
    assert body["autoscaling_settings"]["min_replica"] == 0
    assert body["instance_type_name"] == "CPU"


def test_production_stands_for_its_current_deployment(
    call: Call, served: Served, say: Call
) -> None:
    model, deployment = served
    assert call("GET", f"models/{model.id}/deployments/production").status_code == 404
    say({deployment.replicas.get().id: "ready"})
    body = call("GET", f"models/{model.id}/deployments/production").json()
    assert (body["id"], body["is_production"], body["environment"]) == (
        deployment.id,
        True,
        "production",
    )
    assert (body["status"], body["active_replica_count"]) == ("ACTIVE", 1)
    assert call("GET", f"models/{model.id}").json()["production_deployment_id"] == deployment.id


def test_switching_off_and_on(call: Call, served: Served) -> None:
    model, deployment = served
    path = f"models/{model.id}/deployments/{deployment.id}"
    assert call("POST", f"{path}/deactivate").json() == {"success": True}
    assert call("GET", path).json()["status"] in {"DEACTIVATING", "INACTIVE"}
    deployment.replicas.update(state="stopped")
    deployment_settle(deployment_id=deployment.id)
    assert call("GET", path).json()["status"] == "INACTIVE"
    assert call("POST", f"{path}/activate").json() == {"success": True}
    assert call("GET", path).json()["status"] == "DEPLOYING"
    retried = call("POST", f"{path}/retry").json()
    assert retried["retried"] is False
    assert "nothing to retry" in retried["reason"]


def test_what_becomes_of_requests_beyond_is_set_told_to_gateways_and_kept_by_its_environment(
    call: Call, served: Served, say: Call
) -> None:
    model, deployment = served
    say({deployment.replicas.get().id: "ready"})
    path = f"models/{model.id}/deployments/{deployment.id}/request_backpressure_settings"
    assert call("PATCH", path, {"policy": "QUEUE_ON_FULL"}).json() == {"policy": "QUEUE_ON_FULL"}
    report = routes_rows({"deployments": [deployment.id]})["deployments"][deployment.id]
    assert report["backpressure"] == {"policy": "QUEUE_ON_FULL", "concurrency": 1}
    production = f"models/{model.id}/environments/production"
    assert call("GET", production).json()["request_backpressure_settings"] == {
        "policy": "QUEUE_ON_FULL"
    }
    assert model.environments.get().backpressure_policy == "QUEUE_ON_FULL"
    version = routes_version_current()
    scaling = f"models/{model.id}/deployments/{deployment.id}/autoscaling_settings"
    assert call("PATCH", scaling, {"concurrency_target": 8}).status_code == 200
    assert routes_version_current() > version, "a replica carries more now"
    report = routes_rows({"deployments": [deployment.id]})["deployments"][deployment.id]
    assert report["backpressure"]["concurrency"] == 8
    unset = {"request_backpressure_settings": {"policy": None}}
    assert call("PATCH", production, unset).status_code == 200
    report = routes_rows({"deployments": [deployment.id]})["deployments"][deployment.id]
    assert "backpressure" not in report
    assert call("PATCH", path, {"policy": "DROP"}).json()["fields"] == ["policy"]
    kept = {"policy": "REJECT_ON_FULL"}
    nightly = {"name": "nightly", "request_backpressure_settings": kept}
    made = call("POST", f"models/{model.id}/environments", nightly).json()
    assert made["request_backpressure_settings"] == kept


def test_autoscaling_settings_are_bounded_and_answered(call: Call, served: Served) -> None:
    model, deployment = served
    path = f"models/{model.id}/deployments/{deployment.id}/autoscaling_settings"
    answer = call("PATCH", path, {"min_replica": 2, "max_replica": 3, "scale_down_delay": 60})
    assert answer.json()["status"] == "ACCEPTED"
    deployment.refresh_from_db()
    assert (deployment.wanted_replicas, deployment.autoscaling["scale_down_delay"]) == (2, 60)
    assert call("PATCH", path, {"min_replica": 2}).json()["status"] == "UNCHANGED"
    assert call("PATCH", path, {"min_replica": 4}).json()["fields"] == [
        "min_replica",
        "max_replica",
    ]
    assert call("PATCH", path, {"max_scale_down_rate": 51}).status_code == 400


def test_environments_and_promotion(call: Call, served: Served, say: Call, team: Team) -> None:
    model, first = served
    say({first.replicas.get().id: "ready"})
    made = call("POST", f"models/{model.id}/environments", {"name": "staging"})
    assert made.status_code == 201
    assert call("POST", f"models/{model.id}/environments", {"name": "staging"}).status_code == 409
    source = {"kind": "build", "build_id": make_servable_build(team=team).id}
    second = call(
        "POST", f"models/{model.id}/deployments", {"source": source, "environment": "staging"}
    ).json()
    staging = call("GET", f"models/{model.id}/environments/staging").json()
    assert staging["current_deployment"] is None
    assert staging["candidate_deployment"]["id"] == second["id"]
    assert staging["in_progress_promotion"]["status"] == "RELEASING"
    assert "keep_previous" not in staging["in_progress_promotion"]
    cancel = call("POST", f"models/{model.id}/environments/staging/cancel_promotion")
    assert cancel.json()["status"] == "CANCELED"
    promoted = call("POST", f"models/{model.id}/deployments/{second['id']}/promote")
    assert promoted.json()["id"] == second["id"]
    production = call("GET", f"models/{model.id}/environments/production").json()
    assert production["current_deployment"]["id"] == first.id
    assert production["candidate_deployment"]["id"] == second["id"]
    names = [each["name"] for each in _environments(call, model)]
    assert names == ["production", "staging"]
    assert call("DELETE", f"models/{model.id}/environments/production").status_code == 409
    assert call("DELETE", f"models/{model.id}/environments/staging").json() == {"success": True}


def test_the_config_and_the_logs_can_be_read(call: Call, served: Served) -> None:
    model, deployment = served
    path = f"models/{model.id}/deployments/{deployment.id}"
    both = call("GET", f"{path}/config").json()
    assert both["raw_config"].startswith("# A tiny")
    assert both["config"] == deployment.spec
    assert call("GET", f"{path}/config?output_format=raw").json()["config"] is None
    replica = deployment.replicas.get()
    log_append(owner=replica.log_owner, attempt=1, sequence=0, text="hello\n")
    lines = call("GET", f"{path}/logs").json()["logs"]
    assert [(line["message"], line["replica"]) for line in lines] == [("hello", replica.id)]
    assert call("GET", f"{path}/replicas").json()["replicas"][0]["id"] == replica.id


def test_what_runs_is_not_deleted_and_the_rest_is(call: Call, served: Served) -> None:
    model, deployment = served
    path = f"models/{model.id}/deployments/{deployment.id}"
    assert call("DELETE", path).status_code == 409
    assert call("DELETE", f"models/{model.id}").status_code == 409
    Deployment.objects.update(state="inactive")
    deployment.replicas.all().delete()
    renamed = call("PATCH", path, {"name": "old.one"})
    assert renamed.json()["name"] == "old.one"
    assert call("DELETE", path).json() == {
        "id": deployment.id,
        "deleted": True,
        "model_id": model.id,
    }
    assert call("DELETE", f"models/{model.id}").json() == {"id": model.id, "deleted": True}


PATHS = [
    ("GET", "", None),
    ("DELETE", "", None),
    ("GET", "/deployments", None),
    ("POST", "/deployments", {"source": {"kind": "build", "build_id": "x"}}),
    ("GET", "/deployments/{d}", None),
    ("PATCH", "/deployments/{d}", {"name": "x"}),
    ("DELETE", "/deployments/{d}", None),
    ("PATCH", "/deployments/{d}/autoscaling_settings", {"min_replica": 0}),
    ("POST", "/deployments/{d}/activate", None),
    ("POST", "/deployments/{d}/deactivate", None),
    ("POST", "/deployments/{d}/retry", None),
    ("POST", "/deployments/{d}/promote", None),
    ("GET", "/deployments/{d}/config", None),
    ("GET", "/deployments/{d}/logs", None),
    ("GET", "/deployments/{d}/replicas", None),
    ("GET", "/environments", None),
    ("POST", "/environments", {"name": "x"}),
    ("GET", "/environments/production", None),
    ("PATCH", "/environments/production", {}),
    ("DELETE", "/environments/production", None),
    ("POST", "/environments/production/promote", {"deployment_id": "{d}"}),
    ("POST", "/environments/production/roll_back", None),
    *(("POST", f"/environments/production/{each}_promotion", None) for each in PROMOTION_SIGNALS),
    ("GET", "/environments/production/promotion_events", None),
    ("POST", "/environments/production/activate", None),
    ("POST", "/environments/production/deactivate", None),
]


def test_to_an_outsider_it_does_not_exist(call: Call, served: Served) -> None:
    model, deployment = served
    outside = make_api_key(team=make_team())
    for method, path, body in PATHS:
        place = f"models/{model.id}{path.format(d=deployment.id)}"
        answer = call(method, place, body, key=outside)
        assert answer.status_code == 404, (method, path, answer.content)
        deployment.refresh_from_db()
        assert deployment.state == "deploying", (method, path)


@pytest.mark.parametrize("type", [ApiKeyType.WORKSPACE_INVOKE, ApiKeyType.WORKSPACE_EXPORT_METRICS])
def test_keys_for_calling_models_do_not_manage_them(
    call: Call, served: Served, team: Team, type: str
) -> None:
    model, _ = served
    key = make_api_key(team=team, type=type)
    assert call("GET", f"models/{model.id}", key=key).status_code == 403


def test_without_a_key_nothing_is_answered(client: Client, served: Served) -> None:
    assert client.get(f"/v1/models/{served[0].id}").status_code == 401


def _environments(call: Call, model: ServedModel) -> list[dict[str, Any]]:
    environments: list[dict[str, Any]] = call("GET", f"models/{model.id}/environments").json()[
        "environments"
    ]
    return environments
