"""Every few seconds: make true what a lost message, a lost node or a lost process left behind."""

from collections.abc import Callable, Iterable, Iterator
from itertools import takewhile
from typing import TypeVar

from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from apps.deployments.due import deployments_due, environments_due, room_now
from apps.deployments.environments.promotion import environment_advance
from apps.deployments.models import Deployment, Replica
from apps.deployments.services.builds import deployments_after_build
from apps.deployments.services.deployments import deployment_rejoin_build
from apps.deployments.services.net import net_check
from apps.deployments.services.reconcile import deployment_settle
from apps.deployments.services.replicas import replica_move, replicas_stop
from apps.fleet.selectors import nodes_silent
from apps.leases.alone import alone
from apps.leases.each_by_itself import each_by_itself
from controlplane.clock import SYSTEM, Clock
from controlplane.domain.lifecycle import (
    BUILD_TERMINAL,
    REPLICA_TERMINAL,
    BuildState,
    DeploymentState,
    ReplicaState,
)

_ADVISORY_LOCK = 7_020_002
_BUILD_OVER = (DeploymentState.BUILD_FAILED, DeploymentState.BUILD_STOPPED)
_NO_BUILD = (BuildState.FAILED, BuildState.CANCELLED)
ROUND_SECONDS = 2.0
"""Less than the time between two rounds."""
_BROKEN_DEPLOYMENT = "deployment %s was not reconciled"

T = TypeVar("T")


def deployments_sweep(*, clock: Clock = SYSTEM) -> bool:
    """Return whether this call did the sweep; another process may be at it.

    1. Deployments whose build has ended go on.
    2. Replicas of silent nodes are lost: they may serve, and count for nothing.
    3. Promotions that can go on take their next step.
    4. Deployments that were marked, or whose time has come, are brought to what is wanted of them.
    5. Some of all others are looked at, whether something was missed.

    It ends after `ROUND_SECONDS`; what is left then comes first in the next one.
    """
    # Held by the session: each deployment below has a transaction of its own.
    with alone(_ADVISORY_LOCK) as is_alone:
        if is_alone:
            _follow_builds()
            _mark_lost()
            _settle_due(clock, until=clock.monotonic() + ROUND_SECONDS)
    return is_alone


def _follow_builds() -> None:
    # A build that is tried again from its own page takes its deployments with it.
    given_up = Deployment.objects.filter(state__in=_BUILD_OVER, build__isnull=False)
    each_by_itself(
        given_up.exclude(build__state__in=_NO_BUILD),
        lambda deployment: deployment_rejoin_build(deployment=deployment),
        broken=_BROKEN_DEPLOYMENT,
    )
    ended = Deployment.objects.filter(
        state=DeploymentState.BUILDING, build__state__in=BUILD_TERMINAL
    )
    each_by_itself(
        set(ended.exclude(build=None).values_list("build_id", flat=True)),
        lambda build_id: deployments_after_build(build_id=str(build_id)),
        broken="build %s was not reconciled",
    )


def _mark_lost() -> None:
    ids = set(_silent_replicas().values_list("deployment_id", flat=True))
    each_by_itself(sorted(ids), _mark_lost_of, broken=_BROKEN_DEPLOYMENT)


def _silent_replicas() -> QuerySet[Replica]:
    return Replica.objects.filter(node__in=nodes_silent()).exclude(
        state__in=[*REPLICA_TERMINAL, ReplicaState.LOST]
    )


@transaction.atomic
def _mark_lost_of(deployment_id: str) -> None:
    Deployment.objects.select_for_update(no_key=True).get(id=deployment_id)
    mine = _silent_replicas().filter(deployment_id=deployment_id).order_by("id")
    for replica in mine.select_for_update(of=("self",), no_key=True):
        is_unheard = replica.state == ReplicaState.ORDERED
        replica_move(replica=replica, to=ReplicaState.LOST)
        if is_unheard:
            # Withdrawn; its GPUs stay claimed, since its agent may have been told and started it.
            replicas_stop(replicas=[replica])


def _settle_due(clock: Clock, *, until: float) -> None:
    def is_time_left() -> bool:
        return clock.monotonic() < until

    now = clock.now()
    room = room_now(now)
    each_by_itself(
        _in_time(environments_due(now=now), is_time_left),
        _advance,
        broken="environment %s was not reconciled",
    )
    each_by_itself(
        _in_time(deployments_due(now=now, room=room), is_time_left),
        lambda deployment_id: deployment_settle(deployment_id=deployment_id, room=room),
        broken=_BROKEN_DEPLOYMENT,
        otherwise=_last_again,
    )
    net_check(room=room, is_time_left=is_time_left)


def _in_time(things: Iterable[T], is_time_left: Callable[[], bool]) -> Iterator[T]:
    return takewhile(lambda _: is_time_left(), things)


def _advance(environment_id: int) -> None:
    for released_id in environment_advance(environment_id=environment_id):
        deployment_settle(deployment_id=released_id)


def _last_again(deployment_id: str) -> None:
    """Put what cannot be reconciled behind all others, so that it does not hold them up."""
    Deployment.objects.filter(id=deployment_id).update(marked_at=Now())
