"""What the gateway changes in a request body so that it can serve any client and meter it."""

import json
import re
from dataclasses import dataclass

from workers.gateway.engine_words import length_of_answer, say_in_own_words
from workers.gateway.refusals import Refused, malformed
from workers.gateway.snapshot import Deployment, Key

COMPLETION_ROUTES = frozenset({"/v1/chat/completions", "/v1/completions"})
MODEL_ROUTES = COMPLETION_ROUTES | {"/v1/embeddings", "/v1/messages", "/v1/responses"}
# A quote inside a JSON string is escaped, so this never matches in a prompt; a nested key may.
_STREAMED = re.compile(rb'"stream"\s*:\s*true')
_SALT = "cache_salt"
_NO_ADAPTER = (
    "The adapter `{}` cannot be asked under TensorRT-LLM, which wants its folder in each request: "
    "serve the config with vLLM."
)
_OURS = (_SALT.encode(), b"lora_request")


@dataclass(frozen=True, slots=True)
class Prepared:
    body: bytes
    stream: bool
    hides_usage: bool
    """The client did not ask for usage in its stream; we did, to meter it."""
    ends_with_done: bool


def prepare(body: bytes, route: str, deployment: Deployment, key: Key) -> Prepared:
    """Return the body for the engine: its model name, the tenant's salt, length, usage in a stream.

    Bodies that are not a JSON object pass as they are: the engine says what is wrong with them.
    Raises Refused for fields that only the gateway may set.
    """
    try:
        return _read(body, route, deployment, key)
    except RecursionError:
        raise Refused(malformed("The JSON body is nested too deeply.")) from None


def _read(body: bytes, route: str, deployment: Deployment, key: Key) -> Prepared:
    salts = route in COMPLETION_ROUTES or deployment.salts_every_route
    if not salts and route not in MODEL_ROUTES and not _may_hold_ours(body):
        return Prepared(body, _STREAMED.search(body) is not None, False, False)
    try:
        data = json.loads(body)
    except ValueError:
        return Prepared(body, False, False, False)
    if not isinstance(data, dict):
        return Prepared(body, False, False, False)
    tenant = key.team_id if deployment.shares_prefixes else key.id
    salt = _salt(data.get(_SALT), tenant) if salts or _SALT in data else None
    added: dict[str, object] = {} if salt is None else {_SALT: salt}
    if deployment.default_max_tokens is not None and route in COMPLETION_ROUTES:
        added |= length_of_answer(data, deployment.default_max_tokens)
    return _prepared(body, data, route, deployment, added)


def _prepared(
    body: bytes,
    data: dict[str, object],
    route: str,
    deployment: Deployment,
    added: dict[str, object],
) -> Prepared:
    if "lora_request" in data:
        raise Refused(
            malformed("`lora_request` is not taken from clients: name the adapter in `model`.")
        )
    changed = route in MODEL_ROUTES and _name_model(data, deployment)
    if deployment.has_own_words and route in COMPLETION_ROUTES:
        changed |= say_in_own_words(data)
    stream = data.get("stream") is True
    streams_completion = stream and route in COMPLETION_ROUTES
    hides_usage = streams_completion and _force_usage(data)
    if changed or hides_usage or (added and not _can_begin_with(added, body, data)):
        body = json.dumps(data | added, separators=(",", ":")).encode()
    elif added:
        # Written in front: a long prompt is not written anew for it.
        front = json.dumps(added, separators=(",", ":")).encode()
        body = b"%b,%b" % (front[:-1], body.lstrip()[1:])
    return Prepared(body, stream, hides_usage, streams_completion)


def _may_hold_ours(body: bytes) -> bool:
    """Whether a JSON body could name a field of ours: in letters, escaped, or not in UTF-8."""
    return any(name in body for name in (*_OURS, b"\\u")) or b"\0" in body[:4]


def _name_model(data: dict[str, object], deployment: Deployment) -> bool:
    """Any string is accepted as `model`; only an adapter's name means anything."""
    name, served = data.get("model"), deployment.served_model_name
    if served is None or name == served or not isinstance(name, str | None):
        return False
    if name in deployment.adapters:
        if deployment.has_own_words:
            raise Refused(malformed(_NO_ADAPTER.format(name)))
        return False
    data["model"] = served
    return True


def _salt(asked: object, tenant: str) -> str | None:
    """What keeps a tenant's cached beginnings apart, and within them what the client keeps apart.

    None where the client sends no text, which the engine refuses.
    """
    if asked is None or asked == "":
        return tenant
    return f"{tenant}/{asked}" if isinstance(asked, str) else None


def _can_begin_with(added: dict[str, object], body: bytes, data: dict[str, object]) -> bool:
    """Whether fields may be written in front: they are none of the body's, and it is in UTF-8."""
    is_new = bool(data) and data.keys().isdisjoint(added)
    return is_new and body.lstrip()[:1] == b"{" and b"\0" not in body[:4]


def _force_usage(data: dict[str, object]) -> bool:
    options = data.get("stream_options")
    if options is None:
        data["stream_options"] = {"include_usage": True}
        return True
    if not isinstance(options, dict) or options.get("include_usage") is True:
        return False
    options["include_usage"] = True
    return True
