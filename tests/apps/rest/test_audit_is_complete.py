"""Every operation of the OpenAPI document that changes something leaves an entry in the trail."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from apps.accounts.models import AuditEntry, Invitation, RestrictedEnvironment, TeamRole, User
from apps.accounts.people.invitations import invitation_create
from apps.configs.lookahead_tunings.examples import TUNING
from apps.configs.models import LookaheadTuning
from apps.configs.traffic_samples.services import consent_give
from apps.deployments.models import Deployment
from apps.rest.specification import document
from controlplane import clock
from tests import factories, factories_alerts, factories_async, factories_benchmarks
from tests.apps.breadth import each_of
from tests.apps.rest_client import RestClient, client_of

pytestmark = [pytest.mark.django_db, pytest.mark.wide]

CHECKED_ELSEWHERE: Mapping[str, str] = {
    "post /v1/artifacts/{artifact_id}/pushes": "needs a secret: tests/apps/builds/pushes",
    "post /v1/builds": "needs a checkpoint: tests/apps/builds",
    "post /v1/builds/{build_id}/apply_fix": "needs a failure: tests/apps/builds",
    "post /v1/builds/{build_id}/promote": "needs a gate: tests/apps/builds",
    "post /v1/calibration_sets": "needs a file: tests/apps/configs/calibration_sets",
    "post /v1/calibration_previews": "needs a set: tests/apps/configs/calibration_sets",
    "delete /v1/calibration_sets/{set_id}": "needs a store: tests/apps/configs/calibration_sets",
    "post /v1/lookahead_tunings": "needs a set: tests/apps/configs/test_lookahead_tunings.py",
    "post /v1/secrets/{name}/test": "needs a target: tests/apps/secrets",
}
CHANGES_NOTHING = frozenset({"post /v1/configs/check", "post /v1/configs/import"})
Call = tuple[str, Any]
GRANT = {"source": "HF", "repo": "acme/own", "commit": "a" * 40, "reason": "read"}


@dataclass(frozen=True, kw_only=True)
class World:
    """A team at work, with an admin of it and of the organisation."""

    admin: User
    member: User
    deployment: Deployment

    @property
    def team(self) -> str:
        return f"/v1/teams/{self.admin.team_id}"

    @property
    def model(self) -> str:
        return f"/v1/models/{self.deployment.model_id}"

    @property
    def build_source(self) -> dict[str, Any]:
        return {"kind": "build", "build_id": self.deployment.build_id}


@pytest.fixture
def world() -> World:
    team = factories.make_team()
    return World(
        admin=factories.make_user(team=team, is_admin=True, role=TeamRole.ADMIN),
        member=factories.make_user(team=team),
        deployment=factories.make_deployment(
            model=factories.make_model(team=team), environment="production"
        ),
    )


def _client(world: World) -> RestClient:
    return client_of(world.admin)


def _spare(world: World, **changes: Any) -> str:
    made = factories.make_deployment(model=world.deployment.model, **changes)
    return f"{world.model}/deployments/{made.id}"


def _secret(world: World, base: str = "/v1") -> str:
    _client(world).post("/v1/secrets", {"name": "hub", "value": "x"})
    return f"{base}/secrets/hub"


def _invitation(world: World) -> Invitation:
    return invitation_create(
        team=world.admin.team, email="new@example.com", role=TeamRole.MEMBER, user=None
    ).invitation


def _restricted(world: World) -> str:
    RestrictedEnvironment.objects.create(team=world.admin.team, name="production")
    return f"{world.team}/restricted_environments/production"


def _staging(world: World, **changes: Any) -> str:
    factories.make_environment(model=world.deployment.model, **changes)
    return f"{world.model}/environments/staging"


def _served_before(world: World) -> str:
    before, now = (factories.make_deployment(model=world.deployment.model) for _ in range(2))
    place = factories.make_environment(model=world.deployment.model, current=before)
    place.current = now
    place.save()
    return f"{world.model}/environments/staging"


def _rolling(world: World, paused: str | None = None) -> str:
    """Return the address of an environment on its way to a deployment with a ready replica."""
    roll = {"total": 1, "direction": "up", "paused": paused}
    current = factories.make_deployment(model=world.deployment.model)
    factories.make_replica(deployment=world.deployment, state="ready")
    return _staging(
        world,
        candidate=world.deployment,
        current=current,
        promotion={"status": "RELEASING", "plan": {}, "roll": roll},
    )


def _member_elsewhere(world: World) -> str:
    factories.Membership.objects.create(user=world.member, team=factories.make_team())
    return f"{world.team}/members/{world.member.id}"


def _build(world: World, action: str, **changes: Any) -> str:
    return f"/v1/builds/{factories.make_build(team=world.admin.team, **changes).id}/{action}"


_CHANNEL = {"name": "mine", "form": "webhook", "target": "https://example.com/other"}


def _channel(world: World) -> str:
    made = factories_alerts.make_alert_channel(team=world.admin.team)
    return f"/v1/alert_channels/{made.id}"


def _tuning(world: World, action: str, **changes: Any) -> str:
    made = LookaheadTuning.objects.create(
        team=world.admin.team, revision=factories.make_revision(team=world.admin.team),
        dataset="team/edits", requests=1, pool="default", **changes,
    )  # fmt: skip
    return f"/v1/lookahead_tunings/{made.id}/{action}"


def _sampled(world: World) -> str:
    consent_give(team=world.admin.team, share=0.01, kept_days=7, user=world.admin)
    return "/v1/traffic_samples"


def _push(world: World, action: str, **changes: Any) -> str:
    made = factories.make_push(team=world.admin.team, **changes)
    return f"/v1/artifacts/{made.artifact_id}/pushes/{made.id}/{action}"


def _grant(world: World) -> str:
    return str(_client(world).post("/v1/remote_code_grants", GRANT)[1]["id"])


def _key(world: World) -> str:
    text = factories.make_api_key(team=world.admin.team)
    return f"/v1/api_keys/{text.partition('.')[0]}"


CALLS: Mapping[str, Callable[[World], Call]] = {
    "post /v1/api_keys": lambda w: ("/v1/api_keys", {"type": "PERSONAL"}),
    "post /v1/teams/{team_id}/api_keys": lambda w: (f"{w.team}/api_keys", {"type": "PERSONAL"}),
    "delete /v1/api_keys/{prefix}": lambda w: (_key(w), None),
    "delete /v1/artifacts/{artifact_id}": lambda w: (
        f"/v1/artifacts/{factories.make_artifact(team=w.admin.team).id}",
        None,
    ),
    "post /v1/artifacts/{artifact_id}/pushes/{push_id}/cancel": lambda w: (
        _push(w, "cancel"),
        None,
    ),
    "post /v1/artifacts/{artifact_id}/pushes/{push_id}/retry": lambda w: (
        _push(w, "retry", state="failed"),
        None,
    ),
    "post /v1/builds/{build_id}/cancel": lambda w: (_build(w, "cancel"), None),
    "post /v1/builds/{build_id}/retry": lambda w: (_build(w, "retry", state="cancelled"), None),
    "post /v1/configs": lambda w: ("/v1/configs", {"name": "c", "text": factories.config_text()}),
    "patch /v1/configs/{config_id}": lambda w: (
        f"/v1/configs/{factories.make_config(team=w.admin.team).id}",
        {"name": "another"},
    ),
    "post /v1/configs/{config_id}/revisions": lambda w: (
        f"/v1/configs/{factories.make_config(team=w.admin.team).id}/revisions",
        {"text": factories.config_text(), "expected_revision": 0},
    ),
    "post /v1/models": lambda w: ("/v1/models", {"name": "m", "source": w.build_source}),
    "post /v1/teams/{team_id}/models": lambda w: (
        f"{w.team}/models",
        {"name": "m", "source": w.build_source},
    ),
    "delete /v1/models/{model_id}": lambda w: (w.model, None),
    "post /v1/models/{model_id}/deployments": lambda w: (
        f"{w.model}/deployments",
        {"source": w.build_source},
    ),
    "patch /v1/models/{model_id}/deployments/{deployment_id}": lambda w: (
        _spare(w),
        {"name": "other"},
    ),
    "delete /v1/models/{model_id}/deployments/{deployment_id}": lambda w: (_spare(w), None),
    "post /v1/models/{model_id}/deployments/{deployment_id}/activate": lambda w: (
        _spare(w, state="inactive") + "/activate",
        None,
    ),
    "post /v1/models/{model_id}/deployments/{deployment_id}/deactivate": lambda w: (
        _spare(w) + "/deactivate",
        None,
    ),
    "patch /v1/models/{model_id}/deployments/{deployment_id}/autoscaling_settings": lambda w: (
        _spare(w) + "/autoscaling_settings",
        {"concurrency_target": 7},
    ),
    "patch /v1/models/{model_id}/deployments/{deployment_id}/request_backpressure_settings": (
        lambda w: (_spare(w) + "/request_backpressure_settings", {"policy": "QUEUE_ON_FULL"})
    ),
    "post /v1/models/{model_id}/deployments/{deployment_id}/promote": lambda w: (
        _spare(w) + "/promote",
        {},
    ),
    "post /v1/models/{model_id}/deployments/{deployment_id}/retry": lambda w: (
        _spare(w, state="failed") + "/retry",
        None,
    ),
    "post /v1/models/{model_id}/environments": lambda w: (
        f"{w.model}/environments",
        {"name": "staging"},
    ),
    "patch /v1/models/{model_id}/environments/{name}": lambda w: (
        _staging(w),
        {"promotion_settings": {"promotion_cleanup_strategy": "KEEP"}},
    ),
    "delete /v1/models/{model_id}/environments/{name}": lambda w: (_staging(w), None),
    "post /v1/models/{model_id}/environments/{name}/activate": lambda w: (
        _staging(w, current=factories.make_deployment(model=w.deployment.model, state="inactive"))
        + "/activate",
        None,
    ),
    "post /v1/models/{model_id}/environments/{name}/deactivate": lambda w: (
        f"{w.model}/environments/production/deactivate",
        None,
    ),
    "post /v1/models/{model_id}/environments/{name}/cancel_promotion": lambda w: (
        _staging(w, candidate=w.deployment) + "/cancel_promotion",
        None,
    ),
    "post /v1/models/{model_id}/environments/{name}/roll_back": lambda w: (
        _served_before(w) + "/roll_back",
        None,
    ),
    "post /v1/models/{model_id}/environments/{name}/pause_promotion": lambda w: (
        _rolling(w) + "/pause_promotion",
        None,
    ),
    "post /v1/models/{model_id}/environments/{name}/resume_promotion": lambda w: (
        _rolling(w, paused="by_hand") + "/resume_promotion",
        None,
    ),
    "post /v1/models/{model_id}/environments/{name}/force_cancel_promotion": lambda w: (
        _rolling(w) + "/force_cancel_promotion",
        None,
    ),
    "post /v1/models/{model_id}/environments/{name}/force_roll_forward_promotion": lambda w: (
        _rolling(w) + "/force_roll_forward_promotion",
        None,
    ),
    "post /v1/models/{model_id}/environments/{name}/promote": lambda w: (
        _staging(w) + "/promote",
        {"deployment_id": w.deployment.id},
    ),
    "post /v1/nodes/{node_id}/cordon": lambda w: (
        f"/v1/nodes/{factories.make_node().id}/cordon",
        None,
    ),
    "post /v1/nodes/{node_id}/uncordon": lambda w: (
        f"/v1/nodes/{factories.make_node(cordoned=True).id}/uncordon",
        None,
    ),
    "post /v1/nodes/{node_id}/drain": lambda w: (
        f"/v1/nodes/{factories.make_node().id}/drain",
        None,
    ),
    "post /v1/nodes/{node_id}/undrain": lambda w: (
        f"/v1/nodes/{factories.make_node(draining_since=clock.now()).id}/undrain",
        None,
    ),
    "delete /v1/nodes/{node_id}/failed_starts": lambda w: (
        f"/v1/nodes/{factories.make_failed_starts().node_id}/failed_starts",
        None,
    ),
    "delete /v1/nodes/{node_id}": lambda w: (
        f"/v1/nodes/{factories.make_node().id}",
        None,
    ),
    "patch /v1/nodes/{node_id}": lambda w: (
        f"/v1/nodes/{factories.make_node().id}",
        {"labels": {"zone": "rack-4"}},
    ),
    "patch /v1/devices/{device_id}": lambda w: (
        f"/v1/devices/{factories.make_device().id}",
        {"pool": "research"},
    ),
    "patch /v1/pools/{pool}": lambda w: (
        "/v1/pools/research",
        {"team_ids": [w.admin.team_id]},
    ),
    "post /v1/prices": lambda w: ("/v1/prices", {"kind": "H100", "per_hour": "2"}),
    "post /v1/secrets": lambda w: ("/v1/secrets", {"name": "hub", "value": "x"}),
    "patch /v1/secrets/{name}": lambda w: (_secret(w), {"expires_at": "2999-01-01T00:00:00Z"}),
    "delete /v1/secrets/{name}": lambda w: (_secret(w), None),
    "post /v1/teams/{team_id}/secrets": lambda w: (
        f"{w.team}/secrets",
        {"name": "hub", "value": "x"},
    ),
    "patch /v1/teams/{team_id}/secrets/{name}": lambda w: (
        _secret(w, w.team),
        {"expires_at": "2999-01-01T00:00:00Z"},
    ),
    "delete /v1/teams/{team_id}/secrets/{name}": lambda w: (_secret(w, w.team), None),
    "patch /v1/alert_limits": lambda w: ("/v1/alert_limits", {"error_share_percent": 9}),
    "post /v1/alert_channels": lambda w: ("/v1/alert_channels", _CHANNEL),
    "patch /v1/alert_channels/{channel_id}": lambda w: (_channel(w), {"is_paused": True}),
    "delete /v1/alert_channels/{channel_id}": lambda w: (_channel(w), None),
    "post /v1/alert_channels/{channel_id}/test": lambda w: (f"{_channel(w)}/test", {}),
    "post /v1/teams": lambda w: ("/v1/teams", {"name": "another"}),
    "patch /v1/teams/{team_id}": lambda w: (w.team, {"name": "renamed"}),
    "delete /v1/teams/{team_id}": lambda w: (f"/v1/teams/{factories.make_team().id}", None),
    "post /v1/teams/{team_id}/invitations": lambda w: (
        f"{w.team}/invitations",
        {"email": "new@example.com"},
    ),
    "delete /v1/teams/{team_id}/invitations/{invitation_id}": lambda w: (
        f"{w.team}/invitations/{_invitation(w).id}",
        None,
    ),
    "patch /v1/teams/{team_id}/members/{user_id}": lambda w: (
        f"{w.team}/members/{w.member.id}",
        {"role": "admin"},
    ),
    "delete /v1/teams/{team_id}/members/{user_id}": lambda w: (_member_elsewhere(w), None),
    "post /v1/teams/{team_id}/restricted_environments": lambda w: (
        f"{w.team}/restricted_environments",
        {"name": "production"},
    ),
    "patch /v1/teams/{team_id}/restricted_environments/{name}": lambda w: (
        _restricted(w),
        {"user_ids": [w.member.id]},
    ),
    "delete /v1/teams/{team_id}/restricted_environments/{name}": lambda w: (_restricted(w), None),
    "post /v1/remote_code_grants": lambda w: ("/v1/remote_code_grants", GRANT),
    "post /v1/remote_code_grants/{grant_id}/revoke": lambda w: (
        f"/v1/remote_code_grants/{_grant(w)}/revoke",
        {"reason": "no"},
    ),
    "post /v1/async_requests/{request_id}/cancel": lambda w: (
        f"/v1/async_requests/{factories_async.make_async_request(deployment=w.deployment).id}/cancel",
        None,
    ),
    "post /v1/benchmarks": lambda w: (
        "/v1/benchmarks",
        {
            "deployment_ids": [w.deployment.id],
            "shape": "chat",
            "load": {"kind": "concurrency", "levels": [1]},
        },
    ),
    "post /v1/benchmarks/{benchmark_id}/cancel": lambda w: (
        f"/v1/benchmarks/{factories_benchmarks.make_benchmark(deployments=[w.deployment]).id}/cancel",
        None,
    ),
    "post /v1/traffic_samples": lambda w: ("/v1/traffic_samples", {"share": 0.1, "kept_days": 7}),
    "delete /v1/traffic_samples": lambda w: (_sampled(w), None),
    "delete /v1/traffic_samples/held": lambda w: (f"{_sampled(w)}/held", None),
    "post /v1/lookahead_tunings/{tuning_id}/cancel": lambda w: (_tuning(w, "cancel"), None),
    "post /v1/lookahead_tunings/{tuning_id}/apply": lambda w: (
        _tuning(w, "apply", state="finished", result=TUNING["result"]),
        None,
    ),
    "patch /v1/users/{user_id}": lambda w: (f"/v1/users/{w.member.id}", {"is_active": False}),
}


def test_every_operation_is_called_here_or_named_with_the_reason() -> None:
    changing = {
        f"{method} {path}"
        for path, methods in document()["paths"].items()
        for method in methods
        if method != "get"
    }
    assert changing == {*CALLS, *CHECKED_ELSEWHERE, *CHANGES_NOTHING}


@each_of("operation", [*CALLS])
def test_an_operation_leaves_an_entry_of_who_called(world: World, operation: str) -> None:
    path, body = CALLS[operation](world)
    client, method = _client(world), operation.partition(" ")[0]
    last = AuditEntry.objects.order_by("id").last()
    call = {"post": client.post, "patch": client.patch, "delete": client.delete}[method]
    status, answer = call(path) if body is None else call(path, body)  # type: ignore[operator]
    assert status < 300, answer
    entries = AuditEntry.objects.filter(id__gt=last.id if last else 0, source="rest")
    assert [entry for entry in entries if world.admin.email in entry.actor_label], operation
