from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from apps.deployments.failures import backing_off, no_room
from apps.deployments.memory_need import Hardware, bytes_per_device, hardware_of
from apps.deployments.models import Deployment, Replica
from apps.deployments.ranking import Candidate, placement_words, ranked, waiting_words
from apps.deployments.selectors import failed_starts_of
from apps.fleet.models import Node
from apps.fleet.selectors import (
    computes_bfloat16,
    nodes_closed,
    nodes_for,
    pools_closed_to,
    smallest_device_bytes,
)
from apps.fleet.services.devices import (
    Claimant,
    NoRoom,
    devices_claim,
    devices_lock,
    devices_obstacle,
)
from controlplane import clock
from controlplane.domain.failures import Failure
from controlplane.domain.failures.registry import serving
from controlplane.domain.lifecycle import REPLICA_TERMINAL
from controlplane.domain.memory import UnplannableError


@dataclass(frozen=True, kw_only=True)
class Placed:
    replica: Replica | None = None
    failure: Failure | None = None


def replicas_place(*, deployment: Deployment, count: int) -> list[Placed]:
    if count > 1:
        # One after the other they would lock GPUs of several nodes in the order of preference.
        hardware = hardware_of(deployment)
        candidates = _claimant(deployment, hardware).devices().filter(kind=hardware.kind)
        devices_lock(candidates.filter(node__in=_candidates(deployment, hardware)))
    return [replica_place(deployment=deployment) for _ in range(count)]


def replica_place(*, deployment: Deployment) -> Placed:
    """Order one replica on the node that has room, did not fail, and has the fewest of these."""
    hardware = hardware_of(deployment)
    if hardware.pool in pools_closed_to(team_id=deployment.model.team_id):
        return Placed(failure=serving.POOL.failure(pool=hardware.pool))
    every, now = _by_preference(deployment, hardware), clock.now()
    refusals: dict[str, NoRoom] = {}
    for each in every:
        if each.waits(now):
            continue
        try:
            return Placed(replica=_order_on(each, every, refusals, deployment, hardware))
        except NoRoom as full:
            refusals[each.node.id] = full
        except UnplannableError as error:
            reason = f"The memory cannot be planned: {error}."
            return Placed(failure=serving.UNPLANNED.failure(reason=reason))
    return Placed(failure=_nowhere(every, refusals, hardware, now))


@transaction.atomic
def _order_on(
    chosen: Candidate,
    every: Sequence[Candidate],
    full: Collection[str],
    deployment: Deployment,
    hardware: Hardware,
) -> Replica:
    memory_bytes = _needed_on(chosen.node, deployment, hardware)
    replica = Replica(
        deployment=deployment,
        node=chosen.node,
        generation=deployment.generation,
        memory_bytes=memory_bytes,
        placement=placement_words(
            chosen, every, full, nodes_closed(kind=hardware.kind, pool=hardware.pool)
        ),
    )
    devices_claim(
        holder=replica.device_holder,
        node=chosen.node,
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
        return serving.POOL.failure(pool=hardware.pool)
    every, now = _by_preference(deployment, hardware), clock.now()
    refusals: dict[str, NoRoom] = {}
    for each in every:
        if each.waits(now):
            continue
        refused = _refusal(each.node, deployment, hardware)
        if refused is None:
            return None
        refusals[each.node.id] = refused
    return _nowhere(every, refusals, hardware, now)


def _refusal(node: Node, deployment: Deployment, hardware: Hardware) -> NoRoom | None:
    return devices_obstacle(
        node=node,
        kind=hardware.kind,
        count=hardware.count,
        memory_bytes=_needed_on(node, deployment, hardware),
        claimant=_claimant(deployment, hardware),
    )


def _nowhere(
    every: Sequence[Candidate],
    refusals: Mapping[str, NoRoom],
    hardware: Hardware,
    now: datetime,
) -> Failure:
    waiting = [each for each in every if each.waits(now)]
    if waiting:
        return backing_off(waiting_words(waiting), [*refusals.values()])
    closed = nodes_closed(kind=hardware.kind, pool=hardware.pool)
    return no_room([*refusals.values()], hardware.kind, hardware.pool, closed)


def _needed_on(node: Node, deployment: Deployment, hardware: Hardware) -> int:
    smallest = smallest_device_bytes(node=node, kind=hardware.kind, pool=hardware.pool)
    return bytes_per_device(
        deployment,
        kind=hardware.kind,
        device_bytes=smallest,
        computes_bfloat16=computes_bfloat16(node=node),
    )


def _claimant(deployment: Deployment, hardware: Hardware) -> Claimant:
    return Claimant(team_id=deployment.model.team_id, pool=hardware.pool, is_new=True)


def _by_preference(deployment: Deployment, hardware: Hardware) -> list[Candidate]:
    live = Replica.objects.filter(deployment=deployment).exclude(state__in=REPLICA_TERMINAL)
    here = list(live.values_list("node_id", flat=True))
    failed = {each.node_id: each for each in failed_starts_of(deployment=deployment)}
    return ranked(_candidates(deployment, hardware), here, failed)


def _candidates(deployment: Deployment, hardware: Hardware) -> Sequence[Node]:
    """Return the pool's nodes less those that start other runtimes alone, unless all of them do."""
    nodes = nodes_for(kind=hardware.kind, pool=hardware.pool)
    # A node that does not say, or whose start then fails with the reason, is better than none.
    able = [node for node in nodes if not node.runtimes or deployment.runtime in node.runtimes]
    return able or nodes
