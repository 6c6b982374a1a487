"""Which deployments and environments are to be looked at now: what changed, and what time calls."""

from collections.abc import Iterable
from datetime import datetime
from hashlib import md5
from itertools import chain, zip_longest

from django.db.models import DateTimeField, Q, QuerySet
from django.db.models.fields.json import KT
from django.db.models.functions import Cast

from apps.deployments.models import Deployment, Environment, FailedStarts, Replica
from apps.fleet.models import Node
from apps.fleet.room import room_stamp
from apps.fleet.selectors import version_applied_by_all
from controlplane.domain.lifecycle import DEPLOYMENT_TERMINAL, DeploymentState, ReplicaState

MOST_OF_A_KIND = 200
_PLACED = (
    ReplicaState.ORDERED,
    ReplicaState.STARTING,
    ReplicaState.LOADING,
    ReplicaState.READY,
)
_LEAVING = (ReplicaState.DRAINING, ReplicaState.LOST)
"""A lost one stays lost while gateways take it out of their routes."""


def room_now(now: datetime) -> str:
    """Return what there is to place replicas in, as a text to compare; empty if nobody waits."""
    if not Deployment.objects.filter(room_seen__isnull=False).exists():
        return ""
    waits = FailedStarts.objects.filter(retry_at__gt=now).order_by("id")
    stamp = f"{room_stamp()} {list(waits.values_list('node_id', 'artifact_id'))}"
    return md5(stamp.encode(), usedforsecurity=False).hexdigest()


def deployments_due(*, now: datetime, room: str) -> list[str]:
    """Return ids by turns: what was marked, is due by time, may have room, or is to move.

    At most `MOST_OF_A_KIND` of each, the longest waiting first: none is ever passed over for ever.
    """
    kinds = (
        Deployment.objects.filter(marked_at__isnull=False).order_by("marked_at", "id"),
        Deployment.objects.filter(reconcile_at__lte=now).order_by("reconcile_at", "id"),
        _that_may_have_room(room),
    )
    groups = [_first(kind.values_list("id", flat=True)) for kind in kinds]
    groups += [_first(_deployments_of(each)) for each in (_drained(), _on_draining_nodes())]
    return list(dict.fromkeys(_in_turns(groups)))


def environments_due(*, now: datetime) -> list[int]:
    applied = version_applied_by_all()
    is_applied = Q(promotion_version__isnull=False)
    if applied is not None:
        is_applied = Q(promotion_version__lte=applied)
    text = KT("promotion__gives_up_at")
    rolling = Environment.objects.annotate(gives_up_at=Cast(text, DateTimeField()))
    is_over = Q(gives_up_at=None) | Q(gives_up_at__lte=now)
    # One that builds moves when the build has ended, which marks the deployment.
    waits = Q(candidate__isnull=False, promotion_version=None)
    is_over &= ~Q(candidate__state=DeploymentState.BUILDING)
    in_steps = Q(promotion__has_key="plan", current__isnull=False)
    is_stalled = waits & (is_over | in_steps | Q(candidate__state__in=DEPLOYMENT_TERMINAL))
    due = rolling.filter(is_applied | is_stalled).order_by("id")
    return list(due.values_list("id", flat=True))


def _that_may_have_room(room: str) -> QuerySet[Deployment]:
    waiting = Deployment.objects.filter(room_seen__isnull=False)
    return waiting.exclude(room_seen=room).order_by("id")


def _drained() -> QuerySet[Replica]:
    """Return the replicas that may stop, since no gateway sends them anything any more."""
    leaving = Replica.objects.filter(
        state__in=_LEAVING, wanted="running", draining_since__isnull=False
    )
    applied = version_applied_by_all()
    return leaving if applied is None else leaving.exclude(drain_version__gt=applied)


def _on_draining_nodes() -> QuerySet[Replica]:
    nodes = Node.objects.filter(draining_since__isnull=False)
    there = Replica.objects.filter(node__in=nodes, wanted="running", state__in=_PLACED)
    # One that found no room is called by room.
    return there.filter(deployment__room_seen=None)


def _deployments_of(replicas: QuerySet[Replica]) -> QuerySet[Replica, str]:
    return replicas.order_by("deployment_id").values_list("deployment_id", flat=True).distinct()


def _first(ids: QuerySet[Deployment, str] | QuerySet[Replica, str]) -> list[str]:
    return list(ids[:MOST_OF_A_KIND])


def _in_turns(kinds: Iterable[list[str]]) -> list[str]:
    return [each for each in chain.from_iterable(zip_longest(*kinds)) if each is not None]
