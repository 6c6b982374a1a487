"""What the gateway changes in a request body so that it can serve any client and meter it."""

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple, cast

from workers.gateway.choice.prompts import PROMPT_ROUTES, Prompt, prompt_of
from workers.gateway.engine_words import length_of_answer, say_in_own_words
from workers.gateway.media import MAY_HOLD_MEDIA, require_media_within
from workers.gateway.plain_words import require_plain_words
from workers.gateway.refusals import Refused, malformed
from workers.gateway.responses.chat_request import CHAT_ROUTE, ROUTE, chat_request
from workers.gateway.snapshot import Deployment, Key

COMPLETION_ROUTES = frozenset({"/v1/chat/completions", "/v1/completions"})
MODEL_ROUTES = COMPLETION_ROUTES | {"/v1/embeddings", "/v1/messages", "/v1/responses"}
_compact = json.JSONEncoder(separators=(",", ":")).encode
_scan = cast("Any", json.JSONDecoder()).scan_once
_SALT = "cache_salt"
_MOST_VALUES = 4_000_000
"""Of a body: each costs many times its letters in memory; a whole context has fewer tokens."""
_NO_ADAPTER = (
    "The adapter `{}` cannot be asked under TensorRT-LLM, which wants its folder in each request: "
    "serve the config with vLLM."
)
_LOOKED_AT = (_SALT.encode(), b"lora_request", b'"stream"', *MAY_HOLD_MEDIA)


class Prepared(NamedTuple):
    body: bytes
    stream: bool
    hides_usage: bool
    """The client did not ask for usage in its stream; we did, to meter it."""
    ends_with_done: bool
    prompt: Prompt | None = None
    """How it begins, where there is a choice of replicas."""
    response_parameters: Mapping[str, Any] | None = None
    """What was asked of `/v1/responses` where the engine is asked as a chat instead."""


def prepare(body: bytes, route: str, deployment: Deployment, key: Key) -> Prepared:
    """Return the body for the engine: its model name, the tenant's salt, length, usage in a stream.

    An array or a number passes as it is: the engine says what is wrong with it. Raises Refused for
    what is no JSON, for fields that only the gateway may set or that an engine would read in
    another way than the gateway, and for media that an engine would have to fetch.
    """
    try:
        if route == ROUTE and deployment.translates_responses:
            return _read_response(body, deployment, key)
        return _read(body, route, deployment, key)
    except RecursionError:
        raise Refused(malformed("The JSON body is nested too deeply.")) from None


def _read(body: bytes, route: str, deployment: Deployment, key: Key) -> Prepared:
    salts = route in COMPLETION_ROUTES or deployment.salts_every_route
    if not body or not (salts or route in MODEL_ROUTES or _is_looked_at(body)):
        return Prepared(body, False, False, False)
    is_extra = route in deployment.extra_routes
    data = _parsed(body, is_extra=is_extra)
    if not isinstance(data, dict):
        return Prepared(body, False, False, False)
    if not is_extra:
        require_plain_words(data)
        require_media_within(data)
    tenant = key.team_id if deployment.shares_prefixes else key.id
    wanted_salt = data.get(_SALT)
    prompt = None
    if len(deployment.replicas) + len(deployment.suspects) > 1 and route in PROMPT_ROUTES:
        prompt = prompt_of(data, f"{tenant}/{wanted_salt}")
    salt = _salt(wanted_salt, tenant) if salts or _SALT in data else None
    added: dict[str, object] = {} if salt is None else {_SALT: salt}
    if deployment.default_max_tokens is not None and route in COMPLETION_ROUTES:
        added |= length_of_answer(data, deployment.default_max_tokens)
    return _prepared(body, data, route, deployment, added, prompt)


def _read_response(body: bytes, deployment: Deployment, key: Key) -> Prepared:
    data = _parsed(body, is_extra=False)
    if not isinstance(data, dict):
        raise Refused(malformed("The body is no JSON object. Send one with `input`."))
    chat = _compact(chat_request(data)).encode()
    return _read(chat, CHAT_ROUTE, deployment, key)._replace(response_parameters=data)


def _parsed(body: bytes, *, is_extra: bool) -> object:
    """Return the body's value; None where an extra route takes something else than JSON."""
    if len(body) > _MOST_VALUES and body.count(b",") > _MOST_VALUES:
        raise Refused(malformed(f"The JSON body holds more than {_MOST_VALUES:,} values."))
    try:
        return _read_json(body)
    except ValueError as error:
        if is_extra:
            return None
        raise Refused(malformed(f"The body is not JSON: {error}.")) from None


def _read_json(body: bytes) -> object:
    """Return what `json.loads` would, with less to call where it is an object in UTF-8."""
    if body[:1] == b"{" and body[1:2] != b"\0":
        text = body.decode("utf-8", "surrogatepass")
        try:
            data, end = _scan(text, 0)
        except StopIteration:  # it ends too soon
            return json.loads(body)
        if end == len(text) or not text[end:].strip(" \t\n\r"):
            return data
    return json.loads(body)


def _prepared(
    body: bytes,
    data: dict[str, object],
    route: str,
    deployment: Deployment,
    added: dict[str, object],
    prompt: Prompt | None,
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
        body = _compact(data | added).encode()
    elif added:
        # Written in front: a long prompt is not written anew for it.
        front = b"".join([_field(name, value) for name, value in added.items()])
        body = b"{%b%b" % (front, body.lstrip()[1:])
    return Prepared(body, stream, hides_usage, streams_completion, prompt)


@lru_cache(maxsize=4096)
def _field(name: str, value: object) -> bytes:
    return f'"{name}":{_compact(value)},'.encode()


def _is_looked_at(body: bytes) -> bool:
    """Whether a JSON body could name a field of ours, or one that is checked: in letters, escaped,
    or not in UTF-8.
    """
    return any(name in body for name in (*_LOOKED_AT, b"\\u")) or b"\0" in body[:4]


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


def _salt(value: object, tenant: str) -> str | None:
    """What keeps a tenant's cached beginnings apart, and within them what the client keeps apart.

    None where the client sends no text, which the engine refuses.
    """
    if value is None or value == "":
        return tenant
    return f"{tenant}/{value}" if isinstance(value, str) else None


def _can_begin_with(added: dict[str, object], body: bytes, data: dict[str, object]) -> bool:
    """Whether fields may be written in front: they are none of the body's, and it is in UTF-8."""
    if not data or not data.keys().isdisjoint(added):
        return False
    return body.lstrip()[:1] == b"{" and body.find(b"\0", 0, 4) < 0


def _force_usage(data: dict[str, object]) -> bool:
    options = data.get("stream_options")
    if not isinstance(options, dict):
        data["stream_options"] = {"include_usage": True}
        return True
    if options.get("include_usage") is True:
        return False
    options["include_usage"] = True
    return True
