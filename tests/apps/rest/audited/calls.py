"""A call of each operation of REST that changes something, by its method and path."""

from collections.abc import Callable, Mapping
from typing import Any

from apps.configs.lookahead_tunings.examples import TUNING
from controlplane import clock
from tests import factories, factories_async, factories_benchmarks
from tests.apps.rest.audited.world import (
    CHANNEL,
    GRANT,
    World,
    build,
    channel,
    grant,
    invitation,
    key,
    member_elsewhere,
    push,
    restricted,
    rolling,
    sampled,
    secret,
    served_before,
    spare,
    staging,
    tuning,
)

Call = tuple[str, Any]
"""Its address, and its body."""
CALLS: Mapping[str, Callable[[World], Call]] = {
    "post /v1/api_keys": lambda w: ("/v1/api_keys", {"type": "PERSONAL"}),
    "post /v1/teams/{team_id}/api_keys": lambda w: (f"{w.team}/api_keys", {"type": "PERSONAL"}),
    "delete /v1/api_keys/{prefix}": lambda w: (key(w), None),
    "delete /v1/artifacts/{artifact_id}": lambda w: (
        f"/v1/artifacts/{factories.make_artifact(team=w.admin.team).id}",
        None,
    ),
    "post /v1/artifacts/{artifact_id}/pushes/{push_id}/cancel": lambda w: (
        push(w, "cancel"),
        None,
    ),
    "post /v1/artifacts/{artifact_id}/pushes/{push_id}/retry": lambda w: (
        push(w, "retry", state="failed"),
        None,
    ),
    "post /v1/builds/{build_id}/cancel": lambda w: (build(w, "cancel"), None),
    "post /v1/builds/{build_id}/retry": lambda w: (build(w, "retry", state="cancelled"), None),
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
        spare(w),
        {"name": "other"},
    ),
    "delete /v1/models/{model_id}/deployments/{deployment_id}": lambda w: (spare(w), None),
    "post /v1/models/{model_id}/deployments/{deployment_id}/activate": lambda w: (
        spare(w, state="inactive") + "/activate",
        None,
    ),
    "post /v1/models/{model_id}/deployments/{deployment_id}/deactivate": lambda w: (
        spare(w) + "/deactivate",
        None,
    ),
    "patch /v1/models/{model_id}/deployments/{deployment_id}/autoscaling_settings": lambda w: (
        spare(w) + "/autoscaling_settings",
        {"concurrency_target": 7},
    ),
    "patch /v1/models/{model_id}/deployments/{deployment_id}/request_backpressure_settings": (
        lambda w: (spare(w) + "/request_backpressure_settings", {"policy": "QUEUE_ON_FULL"})
    ),
    "post /v1/models/{model_id}/deployments/{deployment_id}/promote": lambda w: (
        spare(w) + "/promote",
        {},
    ),
    "post /v1/models/{model_id}/deployments/{deployment_id}/retry": lambda w: (
        spare(w, state="failed") + "/retry",
        None,
    ),
    "post /v1/models/{model_id}/environments": lambda w: (
        f"{w.model}/environments",
        {"name": "staging"},
    ),
    "patch /v1/models/{model_id}/environments/{name}": lambda w: (
        staging(w),
        {"promotion_settings": {"promotion_cleanup_strategy": "KEEP"}},
    ),
    "delete /v1/models/{model_id}/environments/{name}": lambda w: (staging(w), None),
    "post /v1/models/{model_id}/environments/{name}/activate": lambda w: (
        staging(w, current=factories.make_deployment(model=w.deployment.model, state="inactive"))
        + "/activate",
        None,
    ),
    "post /v1/models/{model_id}/environments/{name}/deactivate": lambda w: (
        f"{w.model}/environments/production/deactivate",
        None,
    ),
    "post /v1/models/{model_id}/environments/{name}/cancel_promotion": lambda w: (
        staging(w, candidate=w.deployment) + "/cancel_promotion",
        None,
    ),
    "post /v1/models/{model_id}/environments/{name}/roll_back": lambda w: (
        served_before(w) + "/roll_back",
        None,
    ),
    "post /v1/models/{model_id}/environments/{name}/pause_promotion": lambda w: (
        rolling(w) + "/pause_promotion",
        None,
    ),
    "post /v1/models/{model_id}/environments/{name}/resume_promotion": lambda w: (
        rolling(w, paused="by_hand") + "/resume_promotion",
        None,
    ),
    "post /v1/models/{model_id}/environments/{name}/force_cancel_promotion": lambda w: (
        rolling(w) + "/force_cancel_promotion",
        None,
    ),
    "post /v1/models/{model_id}/environments/{name}/force_roll_forward_promotion": lambda w: (
        rolling(w) + "/force_roll_forward_promotion",
        None,
    ),
    "post /v1/models/{model_id}/environments/{name}/promote": lambda w: (
        staging(w) + "/promote",
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
    "patch /v1/secrets/{name}": lambda w: (secret(w), {"expires_at": "2999-01-01T00:00:00Z"}),
    "delete /v1/secrets/{name}": lambda w: (secret(w), None),
    "post /v1/teams/{team_id}/secrets": lambda w: (
        f"{w.team}/secrets",
        {"name": "hub", "value": "x"},
    ),
    "patch /v1/teams/{team_id}/secrets/{name}": lambda w: (
        secret(w, w.team),
        {"expires_at": "2999-01-01T00:00:00Z"},
    ),
    "delete /v1/teams/{team_id}/secrets/{name}": lambda w: (secret(w, w.team), None),
    "patch /v1/alert_limits": lambda w: ("/v1/alert_limits", {"error_share_percent": 9}),
    "post /v1/alert_channels": lambda w: ("/v1/alert_channels", CHANNEL),
    "patch /v1/alert_channels/{channel_id}": lambda w: (channel(w), {"is_paused": True}),
    "delete /v1/alert_channels/{channel_id}": lambda w: (channel(w), None),
    "post /v1/alert_channels/{channel_id}/test": lambda w: (f"{channel(w)}/test", {}),
    "post /v1/teams": lambda w: ("/v1/teams", {"name": "another"}),
    "patch /v1/teams/{team_id}": lambda w: (w.team, {"name": "renamed"}),
    "delete /v1/teams/{team_id}": lambda w: (f"/v1/teams/{factories.make_team().id}", None),
    "post /v1/teams/{team_id}/invitations": lambda w: (
        f"{w.team}/invitations",
        {"email": "new@example.com"},
    ),
    "delete /v1/teams/{team_id}/invitations/{invitation_id}": lambda w: (
        f"{w.team}/invitations/{invitation(w).id}",
        None,
    ),
    "patch /v1/teams/{team_id}/members/{user_id}": lambda w: (
        f"{w.team}/members/{w.member.id}",
        {"role": "admin"},
    ),
    "delete /v1/teams/{team_id}/members/{user_id}": lambda w: (member_elsewhere(w), None),
    "post /v1/teams/{team_id}/restricted_environments": lambda w: (
        f"{w.team}/restricted_environments",
        {"name": "production"},
    ),
    "patch /v1/teams/{team_id}/restricted_environments/{name}": lambda w: (
        restricted(w),
        {"user_ids": [w.member.id]},
    ),
    "delete /v1/teams/{team_id}/restricted_environments/{name}": lambda w: (restricted(w), None),
    "post /v1/remote_code_grants": lambda w: ("/v1/remote_code_grants", GRANT),
    "post /v1/remote_code_grants/{grant_id}/revoke": lambda w: (
        f"/v1/remote_code_grants/{grant(w)}/revoke",
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
    "delete /v1/traffic_samples": lambda w: (sampled(w), None),
    "delete /v1/traffic_samples/held": lambda w: (f"{sampled(w)}/held", None),
    "post /v1/lookahead_tunings/{tuning_id}/cancel": lambda w: (tuning(w, "cancel"), None),
    "post /v1/lookahead_tunings/{tuning_id}/apply": lambda w: (
        tuning(w, "apply", state="finished", result=TUNING["result"]),
        None,
    ),
    "patch /v1/users/{user_id}": lambda w: (f"/v1/users/{w.member.id}", {"is_active": False}),
}
