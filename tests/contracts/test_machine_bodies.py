"""Whatever a machine's body holds, the answer is no error of ours, and nothing breaks later."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any
from uuid import uuid4

import pytest
from django.db import InternalError, transaction
from django.test import Client

from apps.accounts.models import ApiKey
from apps.configs.models import TrafficConsent
from apps.deployments.models import Replica
from apps.fleet.selectors import node_list
from apps.fleet.services.enrollment import enrollment_token_create
from apps.routes.snapshot import routes_snapshot
from tests.factories import make_api_key, make_deployment, make_replica, make_team
from tests.factories_serving import make_gateway, make_serving_node

pytestmark = pytest.mark.django_db

DIGITS = "9" * 5000
HOSTILE = [
    "9223372036854775808", "-1", "1" + "0" * 30, DIGITS, "1e400", "-1e400", "1e-400", "null",
    "true",
    '"\\u0000"', '"a\\u0000b"', '"\\ud800"', json.dumps("x" * 100_000), "[]", "{}",
    '[[["\\u0000"]]]', '{"\\u0000": 1}', f'{{"a": {DIGITS}}}', "[" * 5000 + "]" * 5000,
    '"4294967296"', "4294967296", "NaN",
]  # fmt: skip
DEVICE = {"index": 0, "uuid": "CPU-1", "kind": "CPU", "memory_bytes": 1, "name": "cpu"}
USER = {"pid": 1, "name": "x", "user": "x", "held_bytes": 1, "is_ours": False, "has_ended": False}
FAILURE = {
    "code": "EHN-KILLED", "blame": "ours", "sentence": "It ended.", "field": "f", "hint": "h",
    "fix": {"a": 1}, "detail": "d",
}  # fmt: skip
RECORD = {
    "request_id": "r", "state": "closed", "at": 1_700_000_000.0, "model_id": "m",
    "deployment_id": "d", "environment": "production", "key_id": "k", "status": 200,
    "stream": True, "prompt_tokens": 1, "completion_tokens": 1, "first_byte_seconds": 0.1,
    "duration_seconds": 0.2, "request_bytes": 1, "response_bytes": 1,
}  # fmt: skip


def node_enrolls() -> tuple[str, str, Any]:
    body = {
        "name": "host-1", "address": "127.0.0.1", "boot_id": "b", "agent_version": "0.1.0",
        "host_memory_bytes": 1, "devices": [DEVICE], "facts": {"threads": 2},
        "credential_sha256": "0" * 64, "engine_ports": [15_000, 32_767],
    }  # fmt: skip
    return "nodes/enroll", enrollment_token_create(), body


def gateway_enrolls() -> tuple[str, str, Any]:
    body = {"name": "gateway-1", "address": "127.0.0.1:8001", "credential_sha256": "0" * 64}
    return "gateways/enroll", enrollment_token_create(), body


def node_observes() -> tuple[str, str, Any]:
    replica = _replica()
    body = {
        "format": 1, "boot_id": "b", "runtimes": ["native"],
        "devices": [{**DEVICE, "used_bytes": 1, "utilization_percent": 1.0, "used_by": [USER]}],
        "replicas": [
            {
                "id": replica.id, "generation": replica.generation, "state": "ready",
                "host": "127.0.0.1", "port": 20_000, "pid": 1, "failure": FAILURE,
                "report": {"kv_tokens": 1}, "metrics": {"running": 1.0},
            }
        ],
    }  # fmt: skip
    return "nodes/observe", "node-1", body


def node_ships_a_log() -> tuple[str, str, Any]:
    body = {"replica_id": _replica().id, "attempt": 0, "sequence": 0, "text": "a line\n"}
    return "nodes/logs", "node-1", body


def gateway_applies() -> tuple[str, str, Any]:
    make_gateway(name="gateway-1")
    return "gateways/applied", "gateway-1", {"version": 1}


def gateway_tells_its_load() -> tuple[str, str, Any]:
    make_gateway(name="gateway-1")
    load = {"requests": 1.5, "held": 1, "tokens": 10.0}
    values = {"woken": ["d"], "deployments": {"d": load}, "ejected": {"r": "reset"}}
    body = {"sequence": 1, "seconds": 5.0, **values}
    return "gateways/load", "gateway-1", body


def gateway_tells_its_samples() -> tuple[str, str, Any]:
    make_gateway(name="gateway-1")
    given = TrafficConsent.objects.create(team=make_team(), share=0.1, kept_days=7)
    samples = {
        "consent_id": given.id, "model_id": "m", "samples": 1, "size_bytes": 9,
        "oldest_at": 1_700_000_000.0,
    }  # fmt: skip
    setting = {"manner": "filled", "longest_draft_tokens": 1, "draft_factor": 1}
    counted = {
        "setting": setting, "tokens": 2, "steps": 1, "drafted_steps": 1, "drafted_tokens": 1,
        "accepted_at": [1],
    }  # fmt: skip
    figures = {"answers": 1, "prompt_tokens": 1, "answer_tokens": 2, "counted": [counted]}
    body = {"samples": [samples], "figures": {"t": figures, "u": {"failure": "slow"}}}
    return "gateways/samples", "gateway-1", body


def gateway_hands_in_usage() -> tuple[str, str, Any]:
    make_gateway(name="gateway-1")
    body = {"journal": str(uuid4()), "from_offset": 0, "to_offset": 10, "records": [RECORD]}
    return "usage", "gateway-1", body


def gateway_hands_a_request_over() -> tuple[str, str, Any]:
    make_gateway(name="gateway-1")
    text = make_api_key()
    key = ApiKey.objects.get(prefix=text.partition(".")[0])
    body = {
        "id": "a" * 32, "key_id": key.id, "model_id": "m", "deployment_id": "d",
        "environment": "production", "content": '{"model_input": {}}',
    }  # fmt: skip
    return "async_requests", "gateway-1", body


def a_lease_is_redeemed() -> tuple[str, str, Any]:
    return "leases/build/x/secrets", "none", {"token": 1, "lease_secret": "x"}


CALLS: Sequence[Callable[[], tuple[str, str, Any]]] = (
    node_enrolls, gateway_enrolls, node_observes, node_ships_a_log, gateway_applies,
    gateway_tells_its_load, gateway_tells_its_samples, gateway_hands_in_usage,
    gateway_hands_a_request_over, a_lease_is_redeemed,
)  # fmt: skip


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.__name__)
def test_an_honest_body_is_taken(client: Client, call: Callable[[], tuple[str, str, Any]]) -> None:
    path, bearer, body = call()
    answer = _send(client, path, bearer, json.dumps(body))
    expected = {"async_requests": 201}.get(path, 403 if path.startswith("leases") else 200)
    assert answer.status_code == expected, answer.content


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.__name__)
def test_no_hostile_value_in_any_place_is_an_error_of_ours(
    client: Client, call: Callable[[], tuple[str, str, Any]]
) -> None:
    client.raise_request_exception = False
    path, bearer, body = call()
    wrong = []
    for place, text in _harmed(body):
        # What breaks a transaction would else be blamed on all that follows.
        with suppress(InternalError), transaction.atomic():
            answer = _send(client, path, bearer, text)
        if answer.status_code >= 500:
            wrong.append((place, text[:200], answer.status_code))
    assert not wrong
    _everything_is_shown_still()


def _everything_is_shown_still() -> None:
    list(node_list())
    routes_snapshot()


def _harmed(body: Any) -> Iterator[tuple[str, str]]:
    """Yield each place of the body, and the body's text with a hostile value there."""
    for place in _places(body):
        marked = json.dumps(_with(body, place, "\u2318"))
        for value in HOSTILE:
            yield ".".join(map(str, place)), marked.replace(json.dumps("\u2318"), value, 1)
    yield "whole", "[" * 100_000
    yield "whole", "\xff"


def _places(value: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if above:
        yield above
    inner: Any = ()
    if isinstance(value, Mapping):
        inner = value.items()
    elif isinstance(value, list):
        inner = enumerate(value)
    for key, each in inner:
        yield from _places(each, (*above, key))


def _with(value: Any, place: tuple[Any, ...], new: Any) -> Any:
    if not place:
        return new
    first, *rest = place
    copy = dict(value) if isinstance(value, Mapping) else list(value)
    copy[first] = _with(value[first], tuple(rest), new)
    return copy


def _replica() -> Replica:
    return make_replica(node=make_serving_node(name="node-1"), deployment=make_deployment())


def _send(client: Client, path: str, bearer: str, text: str) -> Any:
    return client.post(
        f"/internal/v1/{path}",
        text.encode("utf-8", "surrogatepass"),
        content_type="application/json",
        headers={"Authorization": f"Bearer {bearer}"},
    )
