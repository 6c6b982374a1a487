"""A whole fleet at rest: deployments with one ready replica each, and nothing left to do."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db import connection, transaction

from apps.accounts.models import ApiKey, ApiKeyType, Team
from apps.accounts.routes_version import routes_version_bump
from apps.accounts.services.bootstrap import admin_ensure
from apps.configs.services.configs import config_create
from apps.deployments.models import Deployment, Environment, Replica, ServedModel
from apps.fleet.models import Device, DeviceLease, Node
from benchmarks.many_others import made
from benchmarks.many_rows import GIB
from benchmarks.telemetry_parts.traffic import traffic_fill
from controlplane import clock
from controlplane.domain.lifecycle import DeploymentState, ReplicaState
from controlplane.domain.rules.examples import facts

_TEXT = """\
model_name: llama-3.1-8b
resources:
  accelerator: H100
trt_llm:
  build:
    base_model: decoder
    checkpoint_repository:
      source: HF
      repo: meta-llama/Llama-3.1-8B-Instruct
    quantization_type: fp8
    max_seq_len: 8192
"""
REPORTED = 1000
"""How many replicas the first node runs, where there are so many."""
_DEVICES_A_NODE = 8
_DEPLOYMENTS_A_MODEL = 4
_MINUTES = 60
METRICS = {"requests_running": 3.0, "requests_waiting": 0.0, "kv_cache_usage": 0.25}


@dataclass(frozen=True, kw_only=True)
class Fleet:
    """What the measurements change."""

    team: Team
    deployments: list[Deployment]
    replicas: list[Replica]
    keys: list[ApiKey]
    node: Node
    """The one with most replicas."""


def fill(size: int) -> Fleet:
    """Return a fleet of so many deployments, replicas and keys, with an hour of traffic."""
    admin = admin_ensure()
    team = admin.team
    spec = config_create(team=team, name="served", text=_TEXT, user=admin).revisions.get().spec
    deployments = _deployments(team, size, spec)
    nodes = _nodes(size)
    replicas = _replicas(deployments, nodes)
    keys = _keys(team, size)
    traffic_fill(deployments, minutes=_MINUTES)
    with transaction.atomic():
        # One that is served has had changes; the very first one names everything.
        routes_version_bump()
    # Made at rest: what nobody has marked, the check of everything looks at all the same.
    Deployment.objects.update(marked_at=None)
    with connection.cursor() as cursor:
        # A served database has statistics; this one was filled a moment ago.
        cursor.execute("VACUUM ANALYZE")
    return Fleet(team=team, deployments=deployments, replicas=replicas, keys=keys, node=nodes[0])


def _deployments(team: Team, size: int, spec: Any) -> list[Deployment]:
    count = -(-size // _DEPLOYMENTS_A_MODEL)
    models = made(ServedModel(team=team, name=f"model-{number}") for number in range(count))
    checkpoint = facts().model_dump(mode="json")
    deployments: list[Deployment] = made(
        Deployment(
            model=models[number // _DEPLOYMENTS_A_MODEL],
            name=f"deployment-{number}",
            runtime="vllm",
            spec=spec,
            checkpoint=checkpoint,
            state=DeploymentState.ACTIVE,
        )
        for number in range(size)
    )
    made(
        Environment(model=model, name="production", current=deployments[place])
        for place, model in zip(range(0, size, _DEPLOYMENTS_A_MODEL), models, strict=True)
    )
    return deployments


def _nodes(size: int) -> list[Node]:
    # Heard for as long as this takes: nobody reports.
    moment = clock.now() + timedelta(days=1)
    nodes: list[Node] = made(
        Node(
            name=f"node-{number:05}",
            address="10.0.0.1",
            credential_sha256=f"{number:064x}",
            host_memory_bytes=512 * GIB,
            last_heartbeat_at=moment,
        )
        for number in range(1 + max(0, size - REPORTED) // _DEVICES_A_NODE)
    )
    return nodes


def _replicas(deployments: list[Deployment], nodes: list[Node]) -> list[Replica]:
    now = clock.now()
    replicas: list[Replica] = made(
        Replica(
            id=f"{place:05}",
            deployment=deployment,
            node=nodes[max(0, place - REPORTED) // _DEVICES_A_NODE % len(nodes)],
            generation=1,
            state=ReplicaState.READY,
            memory_bytes=GIB,
            host="10.0.0.1",
            port=10_000 + place,
            pid=1,
            report={"version": "0.25.1"},
            metrics=METRICS,
            ready_at=now,
            observed_at=now,
        )
        for place, deployment in enumerate(deployments)
    )
    devices: list[Device] = made(
        Device(
            node=replica.node, index=place % 1000, uuid=f"device-{place}", kind="H100",
            memory_bytes=80 * GIB,
        )
        for place, replica in enumerate(replicas)
    )  # fmt: skip
    made(
        DeviceLease(device=device, holder=replica.device_holder, memory_bytes=GIB)
        for device, replica in zip(devices, replicas, strict=True)
    )
    return replicas


def _keys(team: Team, size: int) -> list[ApiKey]:
    keys: list[ApiKey] = made(
        ApiKey(
            prefix=f"key{number:05}",
            secret_sha256=f"{number:064x}",
            type=ApiKeyType.WORKSPACE_INVOKE,
            team=team,
        )
        for number in range(size)
    )
    return keys
