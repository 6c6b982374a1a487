"""What is posted to each page of a team at work, so that it does what it is for."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from django.test import Client

from apps.accounts.hashing import session_key_kept
from apps.accounts.models import (
    BrowserSession,
    Invitation,
    Membership,
    RestrictedEnvironment,
    TeamRole,
    User,
)
from apps.accounts.people.invitations import invitation_create
from apps.accounts.signing_in.links import sign_in_link_create
from apps.accounts.signing_in.two_steps import two_steps_begin, two_steps_confirm
from apps.configs.remote_code.services import remote_code_grant
from apps.configs.traffic_samples.services import consent_give
from apps.deployments.autoscaling.schedules import schedules_update
from apps.deployments.models import Deployment, Environment
from apps.secrets.services.values import secret_set
from controlplane import clock
from controlplane.domain.scaling.settings import ScalingSettings
from tests import factories, factories_alerts, factories_async, factories_benchmarks
from tests.apps.accounts.signing_in.test_two_steps import PASSWORD, code_of

Form = Mapping[str, Any]
GRANT = {"source": "HF", "repo": "org/own-code", "commit": "ab" * 20, "reason": "read it"}


@dataclass(frozen=True, kw_only=True)
class World:
    """A team at work, with an admin of it and of the organisation, in a browser."""

    admin: User
    member: User
    deployment: Deployment
    browser: Client

    def spare(self, **changes: Any) -> Deployment:
        return factories.make_deployment(model=self.deployment.model, **changes)


def _deployment(made: Deployment, action: str, **form: str) -> tuple[str, Form]:
    return f"/models/{made.model_id}/{made.id}/{action}/", form


def _sampled(world: World) -> str:
    consent_give(team=world.admin.team, share=0.01, kept_days=7, user=world.admin)
    return "/traffic-samples/"


def _deactivated(world: World) -> tuple[str, Form]:
    made = world.spare()
    return _deployment(made, "deactivate", name=made.name)


def _deleted(world: World) -> tuple[str, Form]:
    made = world.spare(state="inactive")
    return _deployment(made, "delete", name=made.name)


def _environment_deleted(world: World) -> tuple[str, Form]:
    place = factories.make_environment(model=world.deployment.model)
    return f"/models/{place.model_id}/environments/{place.name}/delete/", {"name": place.name}


def _promoted(world: World) -> tuple[str, Form]:
    factories.make_environment(model=world.deployment.model)
    return _deployment(world.spare(), "promote", environment="staging")


STORED_SCHEDULE = {
    "name": "Nights", "enabled": True, "cadence": "DAILY", "weekdays": ["MONDAY"],
    "start_hour": 22, "start_minute": 0, "end_hour": 6, "end_minute": 0,
    "autoscaling_settings": {"min_replica": 0},
}  # fmt: skip
SCHEDULE = {
    "name": "Nights", "cadence": "DAILY", "weekdays": ["MONDAY"], "start_time": "22:00",
    "end_time": "06:00", "min_replica": "0", "enabled": "on",
}  # fmt: skip


def _schedules(world: World, action: str = "", **form: str) -> tuple[str, Form]:
    made = factories.make_environment(model=world.deployment.model, name="nightly")
    schedules_update(environment=made, changes={"schedules": [STORED_SCHEDULE]})
    stored = Environment.objects.get(id=made.id).autoscaling_schedules["schedules"][0]
    path = f"/models/{made.model_id}/environments/{made.name}/schedules/{action}"
    return path, form or {**SCHEDULE, "schedule": stored["id"]}


def _rolled_back(world: World) -> tuple[str, Form]:
    place = factories.make_environment(model=world.deployment.model, current=world.spare())
    place.current = world.spare()
    place.save()
    return f"/models/{place.model_id}/environments/staging/roll-back/", {
        "leaving": place.current_id
    }


def _rolled(world: World) -> tuple[str, Form]:
    made = factories.make_environment(
        model=world.deployment.model, current=world.deployment, candidate=world.spare()
    )
    return f"/models/{made.model_id}/environments/{made.name}/promotion/pause/", {}


def _moves(world: World) -> tuple[str, Form]:
    made = factories.make_environment(model=world.deployment.model)
    form = {"way": "replica", "max_surge_percent": "50", "stabilization_time_seconds": "5",
            "ramp_up_duration_seconds": "600", "canary_percent": "", "guard": "PAUSE"}  # fmt: skip
    return f"/models/{made.model_id}/environments/{made.name}/moves/", form


def _woken(world: World) -> tuple[str, Form]:
    made = world.spare(state="scaled_to_zero")
    return "/models/try/wake/", {"place": f"{made.model_id}/deployment/{made.id}"}


def _build(world: World, action: str, **changes: Any) -> tuple[str, Form]:
    made = factories.make_build(team=world.admin.team, **changes)
    return f"/builds/{made.number}/{action}/", {}


def _deployed(world: World) -> tuple[str, Form]:
    build = factories.make_finished_build(team=world.admin.team)
    return f"/models/deploy/{build.number}/", {"model_name": "fresh", "environment": ""}


def _benchmark_started(world: World) -> tuple[str, Form]:
    deployment = factories.make_deployment(team=world.admin.team)
    form = {"deployment": deployment.id, "shape": "chat", "load": "concurrency", "levels": "1",
            "seconds": "5", "warm_up_seconds": "0", "seed": "0"}  # fmt: skip
    return "/benchmarks/start/", form


def _benchmark_cancelled(world: World) -> tuple[str, Form]:
    deployment = factories.make_deployment(team=world.admin.team)
    made = factories_benchmarks.make_benchmark(deployments=[deployment])
    return f"/benchmarks/{made.id}/cancel/", {}


def _async_cancelled(world: World) -> tuple[str, Form]:
    deployment = factories.make_deployment(team=world.admin.team)
    made = factories_async.make_async_request(deployment=deployment)
    return f"/models/async-requests/{made.id}/cancel/", {}


def _artifact(world: World) -> tuple[str, Form]:
    made = factories.make_artifact(team=world.admin.team)
    return f"/artifacts/{made.id}/delete/", {"name": made.id}


def _push(world: World, action: str = "", **changes: Any) -> tuple[str, Form]:
    made = factories.make_push(team=world.admin.team, **changes)
    secret_set(team=made.team, name=made.secret_name, value="v", user=world.admin)
    path = f"/artifacts/{made.artifact_id}/pushes/"
    if action:
        return f"{path}{made.id}/{action}/", {}
    return path, {"destination": "hf://org/other", "secret_name": made.secret_name}


def _config(world: World, action: str, **form: str) -> tuple[str, Form]:
    revision = factories.make_revision(config=factories.make_config(team=world.admin.team))
    return f"/configs/{revision.config_id}/{action}", form or _edited("1")


def _edited(base: str) -> Form:
    text = f"{factories.config_text()}# mine\n"
    return {"text": text, "changed": "", "base": base, "view": "form"}


def _restored(world: World) -> tuple[str, Form]:
    first = factories.make_revision(config=factories.make_config(team=world.admin.team))
    factories.make_revision(config=first.config, number=2, text=_edited("1")["text"])
    return f"/configs/{first.config_id}/revisions/1/restore/", {}


def _secret(world: World, action: str, **form: str) -> tuple[str, Form]:
    made = secret_set(team=world.admin.team, name="hub", value="v", user=world.admin)
    return f"/secrets/{made.id}/{action}/", form


def _key(world: World) -> tuple[str, Form]:
    factories.make_api_key(team=world.admin.team, name="app")
    made = world.admin.team.api_keys.get(name="app")
    return f"/keys/{made.id}/revoke/", {"name": "app"}


def _invitation(world: World) -> Invitation:
    return invitation_create(
        team=world.admin.team, email="new@example.com", role=TeamRole.MEMBER, user=None
    ).invitation


def _removed(world: World) -> tuple[str, Form]:
    Membership.objects.create(user=world.member, team=factories.make_team())
    return f"/people/{world.member.id}/remove/", {"name": world.member.email}


def _released(world: World) -> tuple[str, Form]:
    RestrictedEnvironment.objects.create(team=world.admin.team, name="production")
    return "/people/restricted/production/release/", {}


def _team(action: str, *, typed: bool = False, **form: str) -> tuple[str, Form]:
    made = factories.make_team()
    return f"/teams/{made.id}/{action}/", {"name": made.name} if typed else form


def _browser(world: World) -> tuple[str, Form]:
    other = Client()
    other.post("/sign-in/", {"email": world.admin.email, "password": PASSWORD})
    made = BrowserSession.objects.get(session_key=session_key_kept(other.session.session_key))
    return f"/account/browsers/{made.id}/end/", {}


def _begun(world: World) -> tuple[str, Form]:
    two_steps_begin(user=world.admin)
    return "/account/two-steps/confirm/", {"code": code_of(world.admin)}


def _confirmed(world: World) -> tuple[str, Form]:
    two_steps_begin(user=world.admin)
    two_steps_confirm(user=world.admin, code=code_of(world.admin))
    return "/account/two-steps/end/", {"password": PASSWORD}


def _node(action: str, *, name: str = "", value: str = "", **changes: Any) -> tuple[str, Form]:
    made = factories.make_node(**changes)
    return f"/nodes/{made.id}/{action}/", {"name": name, "value": value}


def _device_assigned() -> tuple[str, Form]:
    device = factories.make_device()
    return f"/nodes/{device.node_id}/devices/", {device.id: "spare"}


def _grant_revoked(world: World) -> tuple[str, Form]:
    made = remote_code_grant(**GRANT, user=world.admin)
    return f"/remote-code/{made.id}/revoke/", {"reason": "not needed"}


def _channel(world: World, action: str, **form: str) -> tuple[str, Form]:
    made = factories_alerts.make_alert_channel(team=world.admin.team, name="on call")
    return f"/alerts/channels/{made.id}/{action}", form


SIZE = {name: str(value) for name, value in ScalingSettings(max_replica=3).to_json().items()}
SIZE["target_in_flight_tokens"] = ""
_CHANNEL = {"name": "mine", "form": "webhook", "target": "https://example.com/other"}


POSTS: Mapping[str, Callable[[World], tuple[str, Form]]] = {
    "alerts:limits": lambda w: ("/alerts/limits/", {"error_share_percent": "9"}),
    "alerts:channels": lambda w: ("/alerts/channels/", _CHANNEL),
    "alerts:channel": lambda w: _channel(w, "", **_CHANNEL),
    "alerts:test_channel": lambda w: _channel(w, "test/"),
    "alerts:delete_channel": lambda w: _channel(w, "delete/", name="on call"),
    "dashboard:hide_first_steps": lambda w: ("/first-steps/hide/", {}),
    "accounts:sign_out": lambda w: ("/sign-out/", {}),
    "accounts:change_password": lambda w: (
        "/account/password/",
        {"old": PASSWORD, "new": "another horse battery"},
    ),
    "accounts:begin_two_steps": lambda w: ("/account/two-steps/begin/", {}),
    "accounts:confirm_two_steps": _begun,
    "accounts:end_two_steps": _confirmed,
    "accounts:end_browser": _browser,
    "accounts:end_other_browsers": lambda w: ("/account/browsers/end/", {}),
    "accounts:key_create": lambda w: ("/keys/create/", {"name": "app", "type": "PERSONAL"}),
    "accounts:key_revoke": _key,
    "accounts:invite": lambda w: (
        "/people/invite/",
        {"email": "new@example.com", "role": "member"},
    ),
    "accounts:withdraw": lambda w: (f"/people/invitations/{_invitation(w).id}/withdraw/", {}),
    "accounts:set_role": lambda w: (f"/people/{w.member.id}/role/", {"role": "admin"}),
    "accounts:remove": _removed,
    "accounts:set_account_status": lambda w: (
        f"/people/{w.member.id}/status/",
        {"status": "admin"},
    ),
    "accounts:restrict": lambda w: ("/people/restrict/", {"name": "production"}),
    "accounts:release": _released,
    "accounts:team_create": lambda w: ("/teams/create/", {"name": "another"}),
    "accounts:team_enter": lambda w: _team("enter"),
    "accounts:team_rename": lambda w: _team("rename", name="renamed"),
    "accounts:team_delete": lambda w: _team("delete", typed=True),
    "artifacts:delete": _artifact,
    "async_requests:cancel": _async_cancelled,
    "benchmarks:start": _benchmark_started,
    "benchmarks:cancel": _benchmark_cancelled,
    "artifacts:pushes": _push,
    "artifacts:cancel_push": lambda w: _push(w, "cancel"),
    "artifacts:retry_push": lambda w: _push(w, "retry", state="failed"),
    "builds:cancel": lambda w: _build(w, "cancel"),
    "builds:retry": lambda w: _build(w, "retry", state="cancelled"),
    "configs:new": lambda w: ("/configs/new/", _edited("0")),
    "configs:editor": lambda w: _config(w, ""),
    "configs:rename": lambda w: _config(w, "rename/", name="renamed"),
    "configs:restore": _restored,
    "deployments:deploy": _deployed,
    "deployments:activate": lambda w: _deployment(w.spare(state="inactive"), "activate"),
    "deployments:backpressure": lambda w: _deployment(w.spare(), "full", policy="QUEUE_ON_FULL"),
    "deployments:resize": lambda w: _deployment(w.spare(), "size", **SIZE),
    "deployments:wake": _woken,
    "deployments:deactivate": _deactivated,
    "deployments:delete": _deleted,
    "deployments:model_delete": lambda w: (
        f"/models/{w.deployment.model_id}/delete/",
        {"name": w.deployment.model.name},
    ),
    "deployments:rename": lambda w: _deployment(w.spare(), "rename", name="renamed"),
    "deployments:environment_create": lambda w: (
        f"/models/{w.deployment.model_id}/environments/create/",
        {"name": "staging"},
    ),
    "deployments:environment_delete": _environment_deleted,
    "deployments:retry": lambda w: _deployment(w.spare(state="failed"), "retry"),
    "deployments:promote": _promoted,
    "deployments:schedules": _schedules,
    "deployments:schedule_delete": lambda w: _schedules(w, "delete/"),
    "deployments:schedules_timezone": lambda w: _schedules(w, "timezone/", timezone="Asia/Tokyo"),
    "deployments:roll_back": _rolled_back,
    "deployments:promotion": _rolled,
    "deployments:moves": _moves,
    "fleet:label": lambda w: _node("labels", name="room", value="3"),
    "fleet:cordon": lambda w: _node("cordon"),
    "fleet:uncordon": lambda w: _node("uncordon", cordoned=True),
    "fleet:drain": lambda w: _node("drain"),
    "fleet:undrain": lambda w: _node("undrain", cordoned=True, draining_since=clock.now()),
    "node_clear_failed_starts": lambda w: (
        f"/nodes/{factories.make_failed_starts().node_id}/failed-starts/clear/",
        {},
    ),
    "fleet:assign_devices": lambda w: _device_assigned(),
    "fleet:assign_pool": lambda w: (
        "/nodes/pools/",
        {"pool": "default", "teams": [w.admin.team_id]},
    ),
    "remote_code:list": lambda w: ("/remote-code/", GRANT),
    "remote_code:revoke": _grant_revoked,
    "traffic_samples:consent": lambda w: (
        "/traffic-samples/consent/",
        {"percent": "1", "kept_days": "7"},
    ),
    "traffic_samples:revoke": lambda w: (f"{_sampled(w)}revoke/", {}),
    "traffic_samples:delete": lambda w: (f"{_sampled(w)}delete/", {}),
    "secrets:list": lambda w: ("/secrets/", {"name": "hub", "value": "v"}),
    "secrets:expire": lambda w: _secret(w, "expiry", expires_at="2999-01-01"),
    "secrets:test": lambda w: _secret(w, "test", target="owner/name"),
    "secrets:delete": lambda w: _secret(w, "delete", name="hub"),
    "set_price": lambda w: ("/usage/price/", {"kind": "H100", "per_hour": "2"}),
}


def _by_code(world: World) -> tuple[str, Form]:
    _, form = _confirmed(world)
    world.browser.logout()
    world.browser.post("/sign-in/", {"email": world.admin.email, **form})
    return "/sign-in/code/", {"code": code_of(world.admin, later=1)}


def _by_link(world: World) -> tuple[str, Form]:
    world.browser.logout()
    return f"/sign-in/{sign_in_link_create(user=world.admin)}/", {}


def _by_invitation(world: World) -> tuple[str, Form]:
    made = invitation_create(
        team=factories.make_team(), email=world.admin.email, role=TeamRole.MEMBER, user=None
    )
    return urlsplit(made.url).path, {}


COMING_IN: Mapping[str, Callable[[World], tuple[str, Form]]] = {
    "accounts:code": _by_code,
    "accounts:sign_in_link": _by_link,
    "accounts:join": _by_invitation,
}
POSTS = POSTS | COMING_IN
