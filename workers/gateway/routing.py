"""Where a request goes: path → target → deployment, saying nothing to keys without access."""

import re
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from urllib.parse import unquote

from workers.gateway.refusals import Refusal, Refused, not_found
from workers.gateway.shares import CLOSED_STATUSES, CanaryWish, Shares
from workers.gateway.snapshot import Deployment, Key, Model, Snapshot


class Place(StrEnum):
    ENVIRONMENT = "environment"
    DEPLOYMENT = "deployment"
    DEVELOPMENT = "development"
    MODEL = "model"
    """None of its deployments: what is named belongs to the model."""


class Action(StrEnum):
    PREDICT = "predict"
    SYNC = "sync"
    WAKE = "wake"
    """Answered here: it starts a replica where none runs, and is no request to one."""
    MODEL = "v1/models"
    """Answered here: one model by its name, which is the route."""
    ASYNC_PREDICT = "async_predict"
    ASYNC_QUEUE_STATUS = "async_queue_status"
    ASYNC_REQUEST = "async_request"
    ASYNC_OUTPUT = "async_request output"
    """These four the control plane answers."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Target:
    model_id: str
    place: Place
    name: str
    action: Action
    route: str
    """The engine's own path; empty for `predict`, where the deployment decides."""


def parse_target(path: str) -> Target:
    """Return what `path` asks for. Raises Refused: 400 for tricks, 404 for unknown shapes."""
    parsed = _parsed(path)
    if isinstance(parsed, Refusal):
        raise Refused(parsed)
    return parsed


def resolve(
    target: Target, key: Key, snapshot: Snapshot, shares: Shares, wish: CanaryWish
) -> Deployment:
    """Return the deployment that `target` names now, if `key` may call it. Raises Refused.

    Of an environment that rolls that is one of two: by their shares, or as `wish` says.
    """
    model = snapshot.models.get(target.model_id)
    if model is None or not may_see(key, model):
        raise Refused(not_found(_NO_MODEL.format(target.model_id), "model_not_found"))
    if target.place is Place.DEVELOPMENT:
        raise Refused(not_found(_NO_DEVELOPMENT.format(model.id)))
    if target.place is Place.ENVIRONMENT:
        return _in_environment(target.name, key, model, shares, wish)
    return _by_id(target.name, key, model)


def require_method(target: Target, method: bytes, methods: frozenset[bytes]) -> None:
    """Return if what is no route of an engine may be called so. Raises Refused."""
    if method not in methods:
        raise Refused(_takes_only(target, ", ".join(sorted(each.decode() for each in methods))))


def require_model(target: Target, key: Key, snapshot: Snapshot) -> None:
    """Return if the key may see the model that `target` names. Raises Refused."""
    model = snapshot.models.get(target.model_id)
    if model is None or not may_see(key, model):
        raise Refused(not_found(_NO_MODEL.format(target.model_id), "model_not_found"))


def require_open(target: Target, method: bytes, deployment: Deployment) -> None:
    """Return if clients may call the route so on this deployment's engine. Raises Refused."""
    if target.action is Action.MODEL:
        methods = _READ
    elif target.action is not Action.SYNC:
        methods = _POST
    elif (route := deployment.routes.get(target.route)) is not None:
        methods = route
    else:
        raise Refused(not_found(_CLOSED.format(target.route[:80], deployment.id)))
    if method not in methods:
        allowed = ", ".join(sorted(each.decode() for each in methods))
        raise Refused(_takes_only(target, allowed))


def may_see(key: Key, model: Model) -> bool:
    if key.team_id != model.team_id:
        return False
    return key.model_ids is None or model.id in key.model_ids


@lru_cache(maxsize=4096)
def _parsed(path: str) -> Target | Refusal:
    place, mark, name = path.partition(_MODELS)
    if mark and name:
        return _of_model(place, unquote(name))
    if (plain := _plain(path)) is None:
        return _TRICKY
    segments = plain.split("/")
    match segments[:4]:
        case ["", "m", model_id, "async_request"] if model_id:
            return _of_request(model_id, segments[4:])
        case ["", "m", model_id, "production" | "development" as name] if model_id:
            place = Place.DEVELOPMENT if name == "development" else Place.ENVIRONMENT
            return _with_action(model_id, place, name, segments[4:])
        case ["", "m", model_id, "environments" | "deployment" as kind] if len(segments) > 5:
            place = Place.DEPLOYMENT if kind == "deployment" else Place.ENVIRONMENT
            return _with_action(model_id, place, segments[4], segments[5:])
    return not_found(_UNKNOWN_PATH.format(path[:200]))


def _plain(path: str) -> str | None:
    """Return the decoded path, or None where the engine could read it as another path."""
    plain = unquote(path)
    if unquote(plain) != plain or any(ord(character) < 0x20 for character in plain):
        return None
    segments = plain.split("/")
    if "" in segments[1:-1] or "." in segments or ".." in segments or "\\" in plain:
        return None
    return plain if plain.count("/") == path.count("/") else None


def _with_action(model_id: str, place: Place, name: str, action: list[str]) -> Target | Refusal:
    if action == ["predict"]:
        return Target(model_id=model_id, place=place, name=name, action=Action.PREDICT, route="")
    if len(action) == 1 and action[0] in _WITHOUT_ROUTE:
        named = Action(action[0])
        return Target(model_id=model_id, place=place, name=name, action=named, route="")
    if action == ["sync"]:  # the hub's client posts to the address itself
        return Target(model_id=model_id, place=place, name=name, action=Action.SYNC, route="/")
    if len(action) < 2 or action[0] != "sync" or not action[1]:
        return not_found(_UNKNOWN_ACTION.format("/".join(action)[:80]))
    # In its plain form, in which it is looked up and sent: so the engine reads what was allowed.
    route = "/" + "/".join(action[1:])
    return Target(model_id=model_id, place=place, name=name, action=Action.SYNC, route=route)


def _of_model(place: str, name: str) -> Target | Refusal:
    """Return the question for one model; its name may hold slashes, and no engine reads it."""
    target = _parsed(f"{place}/sync/v1/models")
    if isinstance(target, Refusal):
        return target
    return replace(target, action=Action.MODEL, route=name)


def _of_request(model_id: str, named: list[str]) -> Target | Refusal:
    if not named or not _REQUEST_ID.fullmatch(named[0]) or named[1:] not in ([], ["output"]):
        return not_found(_NO_REQUEST.format("/".join(named)[:80]))
    action = Action.ASYNC_OUTPUT if named[1:] else Action.ASYNC_REQUEST
    return Target(model_id=model_id, place=Place.MODEL, name=named[0], action=action, route="")


def _in_environment(
    name: str, key: Key, model: Model, shares: Shares, wish: CanaryWish
) -> Deployment:
    deployment_id = model.environments.get(name)
    if deployment_id is None or (key.environments is not None and name not in key.environments):
        raise Refused(not_found(_NO_ENVIRONMENT.format(model.id, name)))
    if (share := model.shares.get(name)) is not None and share.candidate in model.deployments:
        deployment_id = shares.choose(model, name, share, wish)
    deployment = model.deployments.get(deployment_id)
    if deployment is None:
        raise Refused(not_found(_NO_ENVIRONMENT.format(model.id, name)))
    return _open(deployment)


def _by_id(id: str, key: Key, model: Model) -> Deployment:
    deployment = model.deployments.get(id)
    if deployment is None or not _may_reach(key, deployment):
        raise Refused(not_found(_NO_DEPLOYMENT.format(model.id, id)))
    return _open(deployment)


def _may_reach(key: Key, deployment: Deployment) -> bool:
    return key.environments is None or deployment.environment in key.environments


def _open(deployment: Deployment) -> Deployment:
    if deployment.status in CLOSED_STATUSES:
        raise Refused(not_found(_DEACTIVATED.format(deployment.id)))
    return deployment


def _takes_only(target: Target, allowed: str) -> Refusal:
    name = target.route if target.action is Action.SYNC else target.action.value
    return Refusal(
        status=405,
        code="method_not_allowed",
        error_code="client_error",
        message=f"`{name}` takes {allowed} only.",
        allow=allowed,
    )


_POST = frozenset({b"POST"})
_READ = frozenset({b"GET", b"HEAD"})
_MODELS = "/sync/v1/models/"
_WITHOUT_ROUTE = frozenset({Action.WAKE, Action.ASYNC_PREDICT, Action.ASYNC_QUEUE_STATUS})
_REQUEST_ID = re.compile(r"[a-z0-9]{1,64}")
_NO_REQUEST = "`async_request/{}` names no asynchronous request. Use the id from `async_predict`."
_CLOSED = (
    "`{}` is not open to clients on deployment `{}`. Where its engine has that route, the "
    "config can open it under `enginehouse.extra_routes`."
)
_NO_MODEL = "There is no model `{}` that this API key can call."
_NO_DEVELOPMENT = (
    "Model `{}` has no development deployment: this server serves published ones. "
    "Use `/production`, `/environments/<name>` or `/deployment/<id>`."
)
_NO_ENVIRONMENT = "Model `{}` has no environment `{}` that this API key can call."
_NO_DEPLOYMENT = "Model `{}` has no deployment `{}` that this API key can call."
_DEACTIVATED = "Deployment `{}` is deactivated. Activate it to call it."
_UNKNOWN_PATH = (
    "Nothing is served at `{}`. Call `/m/<model>/environments/<name>/sync/v1/chat/completions` "
    "or `/m/<model>/environments/<name>/predict`."
)
_UNKNOWN_ACTION = (
    "`{}` is not served here. Use `predict`, `async_predict`, `wake` or `sync/<route>`."
)
_TRICKY = Refusal(
    status=400,
    code="bad_request",
    error_code="client_error",
    message="The path holds empty, dotted or doubly encoded segments. Send it in its plain form.",
)
