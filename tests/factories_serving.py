"""Machines for tests: nodes with GPUs, and gateways, as if they had enrolled."""

from datetime import timedelta
from typing import Any

from apps.builds.models import Build
from apps.deployments.models import Replica
from apps.deployments.services.observing import ReplicaReport, replicas_observe
from apps.fleet.credentials import hash_of
from apps.fleet.models import Device, Gateway, Listening, Node
from apps.fleet.selectors import SILENT
from apps.rest.identifiers import new_id
from controlplane import clock
from controlplane.domain.failures import Blame, Failure
from controlplane.domain.lifecycle import ReplicaState
from tests.factories import make_finished_build

BROKEN = Failure(code="EHN-X", blame=Blame.MACHINE, sentence="The driver does not answer.")
"""Why a node fails whatever is started on it."""

GIB = 1024**3


def listened() -> None:
    """Have machines been listened to for an hour, and those silent that were not heard lately."""
    now = clock.now()
    values = {
        "since": now - timedelta(hours=1),
        "unbroken_since": now - timedelta(hours=2),
        "last_beat_at": now + timedelta(days=1),  # however long a test takes
        "silent_before": now - SILENT,
    }
    Listening.objects.update_or_create(id=1, defaults=values)


def make_serving_node(**changes: Any) -> Node:
    """Return a node that spoke just now, with one CPU of 8 GiB; its credential is its name."""
    name = changes.pop("name", f"node-{new_id()}")
    memory_bytes = changes.pop("memory_bytes", 8 * GIB)
    node = Node.objects.create(
        **{
            "name": name,
            "address": "127.0.0.1",
            "boot_id": "boot-1",
            "credential_sha256": hash_of(name),
            "last_heartbeat_at": clock.now(),
            **changes,
        }
    )
    make_serving_device(node=node, kind="CPU", memory_bytes=memory_bytes)
    return node


def make_serving_device(**changes: Any) -> Device:
    """Return a GPU, by default the next GPU of its node."""
    index = Device.objects.filter(node=changes["node"]).count()
    return Device.objects.create(
        **{
            "index": index,
            "uuid": f"device-{new_id()}",
            "kind": "H100",
            "memory_bytes": 80 * GIB,
            **changes,
        }
    )


def make_gateway(**changes: Any) -> Gateway:
    """Return a gateway that polled just now; its credential is its name."""
    name = changes.pop("name", f"gateway-{new_id()}")
    return Gateway.objects.create(
        **{
            "name": name,
            "credential_sha256": hash_of(name),
            "last_seen_at": clock.now(),
            **changes,
        }
    )


CHECKPOINT = {
    "architecture": "LlamaForCausalLM",
    "model_type": "llama",
    "layers": 2,
    "hidden_size": 64,
    "attention_heads": 4,
    "kv_heads": 2,
    "head_dim": 16,
    "intermediate_size": 128,
    "vocabulary_size": 512,
    "max_positions": 2048,
    "dtype": "float32",
    "parameters": 131_000,
    "weight_bytes": 524_000,
    "tied_embeddings": True,
}


def make_servable_build(**changes: Any) -> Build:
    """Return a build that left an artifact and the facts of a tiny checkpoint."""
    build = make_finished_build(**changes)
    build.steps.filter(name="inspect").update(result={"checkpoint": CHECKPOINT})
    return build


def node_says(node: Node, states: dict[str, str], **more: Any) -> None:
    """Report states of the node's replicas, by id, as its agent would."""
    replicas_observe(
        node=node,
        reports=[
            ReplicaReport(
                id=replica_id,
                generation=Replica.objects.get(id=replica_id).generation,
                state=ReplicaState(state),
                **{"host": "127.0.0.1", "port": 9000, "pid": 1, **more},
            )
            for replica_id, state in states.items()
        ],
    )
