"""Every few seconds: make true what a lost message, a lost node or a lost process left behind."""

import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from django.db import connection, transaction
from django.db.models import Q, QuerySet

from apps.deployments.models import Deployment, Environment, Replica
from apps.deployments.plan import RESTING
from apps.deployments.services.builds import deployments_after_build
from apps.deployments.services.deployments import deployment_rejoin_build
from apps.deployments.services.promotion import environment_advance
from apps.deployments.services.reconcile import deployment_settle
from apps.deployments.services.replicas import replica_move, replicas_stop
from apps.fleet.selectors import nodes_silent
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
_log = logging.getLogger(__name__)

T = TypeVar("T")


def deployments_sweep() -> bool:
    """Return whether this call did the sweep; another process may be at it.

    1. Deployments whose build has ended go on.
    2. Replicas of silent nodes are lost: they may serve, and count for nothing.
    3. Promotions take their next step.
    4. Deployments are brought to what is wanted of them.
    """
    with _alone() as is_alone:
        if is_alone:
            _follow_builds()
            _mark_lost()
            _advance_environments()
            _settle_deployments()
    return is_alone


@contextmanager
def _alone() -> Iterator[bool]:
    # Held by the session: each deployment below has a transaction of its own.
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s)", [_ADVISORY_LOCK])
        is_alone = bool(cursor.fetchone()[0])
    try:
        yield is_alone
    finally:
        if is_alone:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s)", [_ADVISORY_LOCK])


def _follow_builds() -> None:
    # A build that is tried again from its own page takes its deployments with it.
    given_up = Deployment.objects.filter(state__in=_BUILD_OVER, build__isnull=False)
    _each(
        "deployment",
        given_up.exclude(build__state__in=_NO_BUILD),
        lambda deployment: deployment_rejoin_build(deployment=deployment),
    )
    ended = Deployment.objects.filter(
        state=DeploymentState.BUILDING, build__state__in=BUILD_TERMINAL
    )
    _each(
        "build",
        set(ended.exclude(build=None).values_list("build_id", flat=True)),
        lambda build_id: deployments_after_build(build_id=str(build_id)),
    )


def _mark_lost() -> None:
    ids = set(_silent_replicas().values_list("deployment_id", flat=True))
    _each("deployment", sorted(ids), _mark_lost_of)


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
            # Withdrawn; its cards stay claimed, since its agent may have been told and started it.
            replicas_stop(replicas=[replica])


def _advance_environments() -> None:
    rolling = Environment.objects.filter(
        Q(candidate__isnull=False) | Q(promotion_version__isnull=False)
    )
    _each("environment", rolling.values_list("id", flat=True), _advance)


def _advance(environment_id: int) -> None:
    for released_id in environment_advance(environment_id=environment_id):
        deployment_settle(deployment_id=released_id)


def _settle_deployments() -> None:
    alive = Replica.objects.exclude(state__in=REPLICA_TERMINAL).values("deployment_id")
    moving = Deployment.objects.filter(~Q(state__in=RESTING) | Q(id__in=alive))
    _each(
        "deployment",
        moving.order_by("id").values_list("id", flat=True),
        lambda deployment_id: deployment_settle(deployment_id=deployment_id),
    )


def _each(kind: str, things: Iterable[T], act: Callable[[T], object]) -> None:
    for thing in things:
        try:
            act(thing)
        except Exception:
            # One broken thing must not hold up the rest of the fleet.
            _log.exception("%s %s was not reconciled", kind, thing)
