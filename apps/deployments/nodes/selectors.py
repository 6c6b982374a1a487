"""What of deployments is on a node, and, while it is drained, what keeps it there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from apps.accounts.permissions import Actor, Role
from apps.deployments.models import Deployment, FailedStarts, Replica
from apps.deployments.selectors import IS_CONFIRMED, failed_starts_on
from apps.deployments.services.placement import replica_obstacle
from apps.fleet.models import DeviceLease, Node
from controlplane.domain.lifecycle import REPLICA_TERMINAL, ReplicaState
from controlplane.domain.memory import UnplannableError

_COMING = frozenset({ReplicaState.ORDERED, ReplicaState.STARTING, ReplicaState.LOADING})


@dataclass(frozen=True, kw_only=True)
class OnNode:
    """One replica on a node, and why it is still there; of another team, without names."""

    replica: Replica
    is_named: bool
    note: str
    """What happens next; empty where nothing is to happen."""
    is_stuck: bool = False
    """It cannot move as things are."""


def replicas_on(node: Node, actor: Actor) -> list[OnNode]:
    live = Replica.objects.filter(node=node).exclude(state__in=REPLICA_TERMINAL)
    listed = live.annotate(is_confirmed=IS_CONFIRMED).select_related("deployment__model")
    rows = list(listed.order_by("deployment_id", "id"))
    others = _elsewhere(node, {row.deployment_id for row in rows})
    sees_all = actor.role is Role.ORGANISATION_ADMIN
    return [
        _on_node(
            row,
            others.get(row.deployment_id, ()),
            is_draining=node.draining_since is not None,
            is_named=sees_all or row.deployment.model.team_id == actor.team.id,
        )
        for row in rows
    ]


@dataclass(frozen=True, kw_only=True)
class FailedOnNode:
    """What failed to start on a node; of another team, without names and reasons."""

    failed: FailedStarts
    deployments: tuple[str, ...]
    """As model/deployment; empty for another team's."""

    @property
    def sentence(self) -> str:
        return str((self.failed.failure or {}).get("sentence") or "") if self.deployments else ""


def failed_on(node: Node, actor: Actor) -> list[FailedOnNode]:
    rows = list(failed_starts_on(node=node))
    names = _names_of({row.artifact_id for row in rows}, actor)
    return [
        FailedOnNode(failed=row, deployments=tuple(names.get(row.artifact_id, ()))) for row in rows
    ]


def builds_on(node: Node) -> int:
    """Return how many builds hold GPUs of the node; they end by themselves."""
    leases = DeviceLease.objects.filter(device__node=node, released_at=None)
    return leases.filter(holder__startswith="build:").values("holder").distinct().count()


def _names_of(artifact_ids: set[str], actor: Actor) -> Mapping[str, list[str]]:
    shown = Deployment.objects.filter(artifact_id__in=artifact_ids).select_related("model")
    if actor.role is not Role.ORGANISATION_ADMIN:
        shown = shown.filter(model__team=actor.team)
    names: dict[str, list[str]] = {}
    for each in shown.order_by("model__name", "name"):
        names.setdefault(str(each.artifact_id), []).append(f"{each.model.name}/{each.name}")
    return names


def _elsewhere(node: Node, deployment_ids: set[str]) -> Mapping[str, list[Replica]]:
    others: dict[str, list[Replica]] = {}
    rows = Replica.objects.filter(deployment_id__in=deployment_ids, state__in=_COMING)
    for row in rows.exclude(node=node).select_related("node").order_by("id"):
        others.setdefault(row.deployment_id, []).append(row)
    return others


def _on_node(
    replica: Replica, coming: Sequence[Replica], *, is_draining: bool, is_named: bool
) -> OnNode:
    if replica.state == ReplicaState.DRAINING or replica.wanted == "stopped":
        note, is_stuck = "It has left the routes, ends what it has begun, and stops.", False
    elif not is_draining:
        note, is_stuck = "", False
    elif coming:
        note, is_stuck = f"Its replacement starts on `{coming[0].node.name}`.", False
    else:
        note = _obstacle(replica.deployment)
        is_stuck = bool(note)
        note = note or "Its replacement is ordered within seconds."
    return OnNode(replica=replica, is_named=is_named, note=note, is_stuck=is_stuck)


def _obstacle(deployment: Deployment) -> str:
    try:
        refused = replica_obstacle(deployment)
    except UnplannableError as error:
        return f"It cannot move: its memory cannot be planned: {error}."
    return f"It cannot move: {refused.sentence} {refused.hint or ''}".strip() if refused else ""
