"""Nodes that are gone for good: a person says so, and what they held is free at once."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import transaction
from django.db.models import QuerySet

from apps.accounts.audit.recording import audit
from apps.deployments.models import Deployment, Replica
from apps.deployments.services.reconcile import deployment_settle
from apps.deployments.services.replicas import replica_move, replicas_stop
from apps.fleet.models import DeviceLease, Node
from apps.fleet.selectors import nodes_recent
from apps.fleet.services.removing import node_devices_lock, node_fence
from apps.rest.errors import Conflict, NotFound
from controlplane.domain.lifecycle import REPLICA_TERMINAL, ReplicaState


@dataclass(frozen=True, kw_only=True)
class HeldByNode:
    replicas: Sequence[Replica]
    lines: Sequence[str]
    """Every replica and build, as people call it, and how it stood."""


def node_held(*, node: Node) -> HeldByNode:
    leases = DeviceLease.objects.filter(device__node=node, released_at=None)
    builds = leases.filter(holder__startswith="build:").values_list("holder", flat=True)
    replicas = list(_live(node).select_related("deployment__model"))
    numbers = sorted({holder.partition(":")[2] for holder in builds})
    lines = [*map(_replica_words, replicas), *(f"build {number}" for number in numbers)]
    return HeldByNode(replicas=replicas, lines=lines)


@transaction.atomic
def node_remove(*, node: Node) -> HeldByNode:
    """Return what the node held. Its replicas count as ended, and its agent is told to end them.

    Raises Conflict while it speaks and holds something, and NotFound where it was removed already.
    """
    # As in reconcile: deployments, replicas, GPUs, nodes, routes.
    ids = sorted(set(_live(node).values_list("deployment_id", flat=True)))
    list(Deployment.objects.filter(id__in=ids).order_by("id").select_for_update(no_key=True))
    list(_live(node).select_for_update(no_key=True))
    node_devices_lock(node=node)
    held_by_node = node_held(node=node)
    _refuse(node, held_by_node, ids)
    replicas_stop(replicas=held_by_node.replicas)
    for replica in held_by_node.replicas:
        replica_move(replica=replica, to=ReplicaState.STOPPED)
    if not node_fence(node=node):
        raise NotFound(f"Node `{node.name}` was removed already.")
    audit("node.remove", node, team=None, before={"held": held_by_node.lines})
    transaction.on_commit(lambda: _settle(ids), robust=True)
    return held_by_node


def _replica_words(replica: Replica) -> str:
    deployment = replica.deployment
    return f"replica {replica.id} of {deployment.model.name}/{deployment.name}, {replica.state}"


def _live(node: Node) -> QuerySet[Replica]:
    return Replica.objects.filter(node=node).exclude(state__in=REPLICA_TERMINAL).order_by("id")


def _refuse(node: Node, held_by_node: HeldByNode, locked: Sequence[str]) -> None:
    if held_by_node.lines and nodes_recent().filter(id=node.id).exists():
        raise Conflict(
            f"Node `{node.name}` speaks, and holds {len(held_by_node.lines)} things: "
            f"{'; '.join(held_by_node.lines[:8])}.",
            hint="Drain it and remove it when nothing is left, or stop its agent first.",
        )
    if {each.deployment_id for each in held_by_node.replicas} - {*locked}:
        raise Conflict(
            f"Something was placed on node `{node.name}` just now.", hint="Try once more."
        )


def _settle(deployment_ids: Sequence[str]) -> None:
    for deployment_id in deployment_ids:
        deployment_settle(deployment_id=deployment_id)
