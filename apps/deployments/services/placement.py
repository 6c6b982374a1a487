"""Where a new replica goes."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import transaction

from apps.deployments.failures import no_room, not_placeable, pool_of_others
from apps.deployments.memory_need import Hardware, bytes_per_card, hardware_of
from apps.deployments.models import Deployment, Replica
from apps.fleet.models import Node
from apps.fleet.selectors import (
    computes_bfloat16,
    nodes_for,
    pools_closed_to,
    smallest_card_bytes,
)
from apps.fleet.services import Claimant, NoRoom, cards_claim, cards_lock, cards_obstacle
from controlplane.domain.failures import Failure
from controlplane.domain.lifecycle import REPLICA_TERMINAL
from controlplane.domain.memory import UnplannableError


@dataclass(frozen=True, kw_only=True)
class Placed:
    """The new replica, or why there is none."""

    replica: Replica | None = None
    failure: Failure | None = None


def replicas_place(*, deployment: Deployment, count: int) -> list[Placed]:
    """Order so many replicas, each as `replica_place`."""
    if count > 1:
        # One after the other they would lock cards of several nodes in the order of preference.
        hardware = hardware_of(deployment)
        wanted = _claimant(deployment, hardware).cards().filter(kind=hardware.kind)
        cards_lock(wanted.filter(node__in=_candidates(deployment, hardware)))
    return [replica_place(deployment=deployment) for _ in range(count)]


def replica_place(*, deployment: Deployment) -> Placed:
    """Order one replica on the node that has room and the fewest of this deployment."""
    hardware = hardware_of(deployment)
    if hardware.pool in pools_closed_to(team_id=deployment.model.team_id):
        return Placed(failure=pool_of_others(hardware.pool))
    refusals: list[NoRoom] = []
    for node in _by_preference(deployment, hardware):
        try:
            return Placed(replica=_order_on(node, deployment, hardware))
        except NoRoom as full:
            refusals.append(full)
        except UnplannableError as error:
            return Placed(failure=not_placeable(f"The memory cannot be planned: {error}."))
    return Placed(failure=no_room(refusals, hardware.kind, hardware.pool))


@transaction.atomic
def _order_on(node: Node, deployment: Deployment, hardware: Hardware) -> Replica:
    memory_bytes = _needed_on(node, deployment, hardware)
    replica = Replica(
        deployment=deployment,
        node=node,
        generation=deployment.generation,
        memory_bytes=memory_bytes,
    )
    cards_claim(
        holder=replica.card_holder,
        node=node,
        kind=hardware.kind,
        count=hardware.count,
        memory_bytes=memory_bytes,
        claimant=_claimant(deployment, hardware),
    )
    replica.save(force_insert=True)
    return replica


def replica_obstacle(deployment: Deployment) -> Failure | None:
    """Return why no replica of it could be ordered now, None where one could; orders nothing."""
    hardware = hardware_of(deployment)
    if hardware.pool in pools_closed_to(team_id=deployment.model.team_id):
        return pool_of_others(hardware.pool)
    refusals: list[NoRoom] = []
    for node in _candidates(deployment, hardware):
        refused = cards_obstacle(
            node=node,
            kind=hardware.kind,
            count=hardware.count,
            memory_bytes=_needed_on(node, deployment, hardware),
            claimant=_claimant(deployment, hardware),
        )
        if refused is None:
            return None
        refusals.append(refused)
    return no_room(refusals, hardware.kind, hardware.pool)


def _needed_on(node: Node, deployment: Deployment, hardware: Hardware) -> int:
    smallest = smallest_card_bytes(node=node, kind=hardware.kind, pool=hardware.pool)
    return bytes_per_card(
        deployment,
        kind=hardware.kind,
        card_bytes=smallest,
        computes_bfloat16=computes_bfloat16(node=node),
    )


def _claimant(deployment: Deployment, hardware: Hardware) -> Claimant:
    return Claimant(team_id=deployment.model.team_id, pool=hardware.pool, is_new=True)


def _by_preference(deployment: Deployment, hardware: Hardware) -> Sequence[Node]:
    live = Replica.objects.filter(deployment=deployment).exclude(state__in=REPLICA_TERMINAL)
    here = list(live.values_list("node_id", flat=True))
    nodes = _candidates(deployment, hardware)
    return sorted(nodes, key=lambda node: (here.count(node.id), node.name))


def _candidates(deployment: Deployment, hardware: Hardware) -> Sequence[Node]:
    """Return the pool's nodes less those that start other runtimes alone, unless all of them do."""
    nodes = nodes_for(kind=hardware.kind, pool=hardware.pool)
    # A node that does not say, or whose start then fails with the reason, is better than none.
    able = [node for node in nodes if not node.runtimes or deployment.runtime in node.runtimes]
    return able or nodes
