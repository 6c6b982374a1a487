"""Whatever an agent says of its node and engines, all that shows it goes on."""

import json
import secrets
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from pydantic import BaseModel, ValidationError

from apps.deployments.internal_api import ObserveBody
from apps.deployments.models import Replica
from apps.fleet.internal_api import EnrollBody
from apps.fleet.services.enrollment import enrollment_token_create
from controlplane.domain.device_users import DeviceUser
from tests.apps.pages import signed_in
from tests.contracts.test_machine_bodies import DEVICE, FAILURE, USER
from tests.contracts.test_machine_bodies import _with as with_value
from tests.factories import Cast, make_api_key, make_cast, make_deployment, make_model, make_replica
from tests.factories_serving import make_serving_node
from workers.agent.failures import device_taken
from workers.agent.nvidia import _MOST_USERS

pytestmark = pytest.mark.django_db

HOSTILE = [
    -1, 0, 2**63 - 1, 10**4000, 1e308, True, "", "<b>%s{0}", "12", "x" * 3000, [], {}, [1, None],
    {"": {"b": [1e308]}},
]  # fmt: skip
PLAN = {
    "per_gpu": {"weights_bytes": 10**9, "kv_cache_bytes": 10**9},
    "capacity": {"kv_tokens": 4096},
    "kv_cache": {"element_bytes": 4},
}
REPORT = {
    "version": "0.1.0", "weights_bytes": 10**9, "kv_cache_bytes": 10**9, "kv_tokens": 4000,
    "dtype": "float32",
}  # fmt: skip
METRICS = {
    "requests_running": 1.0, "requests_waiting": 0.0, "kv_cache_used_ratio": 0.5,
    "draft_tokens_total": 1.0, "draft_tokens_accepted_total": 1.0,
}  # fmt: skip
WHO_IT_IS = frozenset({"id", "generation", "state", "host", "port", "probe_port", "name"})
"""Whose words they are: another place or replica has words of its own."""


@pytest.fixture
def cast() -> Cast:
    return make_cast()


@pytest.fixture
def replica(cast: Cast) -> Replica:
    deployment = make_deployment(model=make_model(team=cast.team), environment="production")
    deployment.build.revision.plan = PLAN
    deployment.build.revision.save()
    return make_replica(node=make_serving_node(name="node-1"), deployment=deployment)


@pytest.mark.wide
@pytest.mark.parametrize("state", ["ready", pytest.param("failed", marks=pytest.mark.long)])
def test_no_word_of_a_node_takes_a_page_or_an_answer_away(
    client: Client, cast: Cast, replica: Replica, state: str
) -> None:
    assert broken(cast, replica) == []
    for value in HOSTILE:
        statement = as_far_as_taken(ObserveBody, observed(replica, state), value)
        assert send(client, "observe", "node-1", statement) == 200
        assert broken(cast, replica) == [], value


@pytest.mark.wide
def test_no_word_of_a_node_that_enrolls_takes_an_answer_away(
    client: Client, cast: Cast, replica: Replica
) -> None:
    for value in HOSTILE:
        body = as_far_as_taken(EnrollBody, enrolled(), value)
        assert send(client, "enroll", enrollment_token_create(), body) == 200
        assert broken(cast, replica) == [], value


def test_a_gpu_that_many_use_leaves_its_node_no_stranger(client: Client, replica: Replica) -> None:
    names = {"name": "n" * 64, "user": "u" * 64}
    many = [DeviceUser(pid=pid, held_bytes=1, **names) for pid in range(_MOST_USERS)]
    statement = observed(replica, "failed")
    statement["replicas"][0]["failure"] = device_taken("GPU-1", many).to_json()
    assert send(client, "observe", "node-1", statement) == 200
    replica.refresh_from_db()
    assert replica.failure["sentence"].startswith("GPU `GPU-1` is in use by `nnn")


def observed(replica: Replica, state: str) -> Any:
    gpu = {**DEVICE, "index": 1, "uuid": "GPU-1", "kind": "H100", "used_bytes": 1}
    return {
        "format": 1, "boot_id": "b", "runtimes": ["native"], "sent_at": 1.8e9,
        "disk_free_bytes": 1,
        "devices": [{**gpu, "utilization_percent": 1.0, "clean": True, "used_by": [USER]}],
        "replicas": [
            {
                "id": replica.id, "generation": replica.generation, "state": state,
                "host": "127.0.0.1", "port": 20_000, "pid": 1, "probe_port": 20_001,
                "failure": FAILURE, "report": REPORT, "metrics": METRICS,
            }
        ],
    }  # fmt: skip


def enrolled() -> Any:
    return {
        "name": "host-1", "address": "127.0.0.1", "boot_id": "b", "agent_version": "0.1.0",
        "host_memory_bytes": 1, "devices": [DEVICE], "facts": {"threads": 2},
        "credential_sha256": secrets.token_hex(32), "engine_ports": [15_000, 32_767],
    }  # fmt: skip


def as_far_as_taken(shape: type[BaseModel], body: Any, value: Any) -> Any:
    """Return the body with the value in every place that takes it."""
    for place in list(places(body)):
        trial = with_value(body, place, value)
        if is_taken(shape, trial):
            body = trial
    return body


def places(value: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield where something is said, but for whom it is said of."""
    if isinstance(value, dict | list):
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(each, (*above, key))
    elif above[-1] not in WHO_IT_IS or "devices" in above:
        yield above


def is_taken(shape: type[BaseModel], body: Any) -> bool:
    try:
        shape.model_validate_json(json.dumps(body))
    except ValidationError:
        return False
    return True


def send(client: Client, path: str, bearer: str, body: Any) -> int:
    answer = client.post(
        f"/internal/v1/nodes/{path}",
        json.dumps(body),
        content_type="application/json",
        headers={"Authorization": f"Bearer {bearer}"},
    )
    return answer.status_code


def broken(cast: Cast, replica: Replica) -> list[tuple[str, int]]:
    """Return what shows the node, the replica or its deployment, and does not answer."""
    deployment = f"models/{replica.deployment.model_id}/deployments/{replica.deployment_id}"
    page, key = signed_in(cast.owner), make_api_key(user=cast.owner, type="PERSONAL")
    page.raise_request_exception = False
    rest = Client(raise_request_exception=False, headers={"Authorization": f"Bearer {key}"})
    body = {
        page: (
            f"/{deployment}/".replace("/deployments", ""),
            "/nodes/",
            f"/nodes/{replica.node_id}/",
        ),
        rest: (f"/v1/{deployment}/replicas", "/v1/nodes", "/v1/instance_types", "/metrics"),
    }
    answers = [(path, client.get(path).status_code) for client in body for path in body[client]]
    return [each for each in answers if each[1] != 200]
