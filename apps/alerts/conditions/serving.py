from collections.abc import Iterator, Mapping
from typing import Any

from django.db.models import Count, Exists, OuterRef, Q, QuerySet
from django.urls import reverse

from apps.alerts.conditions.condition import Condition
from apps.alerts.models import Severity
from apps.deployments.models import Deployment, Environment, Replica
from apps.fleet.selectors import nodes_silent
from controlplane.clock import Clock
from controlplane.domain.alert_kinds import AlertKindName
from controlplane.domain.lifecycle import DeploymentState, ReplicaState

_DOWN = (DeploymentState.UNHEALTHY, DeploymentState.DEPLOY_FAILED, DeploymentState.FAILED)
_READY = Count("replicas", filter=Q(replicas__state=ReplicaState.READY))


def serving_conditions(_clock: Clock) -> Iterator[Condition]:
    """Give the deployments that are down or short of replicas."""
    rows = list(_troubled().values(*_COLUMNS))
    behind = _silent_nodes([row["id"] for row in rows])
    for row in rows:
        yield _condition(row, caused_by=behind.get(row["id"], ""))


_COLUMNS = (
    "id",
    "model_id",
    "name",
    "state",
    "failure",
    "wanted_replicas",
    "degraded_since",
    "model__name",
    "model__team_id",
    "ready",
    "is_pointed_at",
)


def _troubled() -> QuerySet[Deployment]:
    pointed_at = Environment.objects.filter(current_id=OuterRef("pk"))
    is_short = Q(state=DeploymentState.ACTIVE, degraded_since__isnull=False)
    return (
        Deployment.objects.filter(Q(state__in=_DOWN) | is_short)
        .annotate(ready=_READY, is_pointed_at=Exists(pointed_at))
        .order_by("id")
    )


def _silent_nodes(deployment_ids: list[str]) -> Mapping[str, str]:
    """Return by deployment the key of the alert about a silent node that took replicas with it."""
    lost = Replica.objects.filter(
        deployment_id__in=deployment_ids,
        state=ReplicaState.LOST,
        node__in=nodes_silent().filter(removed_at=None),
    )
    pairs = lost.values_list("deployment_id", "node__name").order_by("-node__name")
    return {each: f"{AlertKindName.NODE_SILENT}:{node}" for each, node in pairs}


def _condition(row: Mapping[str, Any], *, caused_by: str) -> Condition:
    is_down = row["state"] in _DOWN
    return Condition(
        kind=AlertKindName.DEPLOYMENT_DOWN if is_down else AlertKindName.DEPLOYMENT_SHORT,
        subject=row["id"],
        team_id=row["model__team_id"],
        severity=Severity.CRITICAL if is_down and row["is_pointed_at"] else Severity.WARNING,
        sentence=_sentence(row),
        hint=(row["failure"] or {}).get("hint") or "",
        path=reverse("deployments:deployment", args=[row["model_id"], row["id"]]),
        began_at=None if is_down else row["degraded_since"],
        caused_by=caused_by,
    )


def _sentence(row: Mapping[str, Any]) -> str:
    cause = (row["failure"] or {}).get("sentence", "")
    name = f"`{row['model__name']}`, `{row['name']}`"
    counts = f"{row['ready']} of {row['wanted_replicas']} replicas ready"
    return f"{name} {_WORDS[row['state']]}: {counts}. {cause}".strip()


_WORDS = {
    DeploymentState.UNHEALTHY: "is unhealthy",
    DeploymentState.DEPLOY_FAILED: "failed to deploy",
    DeploymentState.FAILED: "failed",
    DeploymentState.ACTIVE: "is short of replicas",
}
