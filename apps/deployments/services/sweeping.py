"""Every few seconds: make true what a lost message, a lost node or a lost process left behind."""

import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from django.db import connection, transaction
from django.db.models import Q

from apps.deployments.models import Deployment, Environment, Replica
from apps.deployments.plan import RESTING
from apps.deployments.services.builds import deployments_after_build
from apps.deployments.services.deployments import deployment_rejoin_build
from apps.deployments.services.promotion import environment_advance
from apps.deployments.services.reconcile import deployment_settle
from apps.deployments.services.replicas import replica_move
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


def deployments_sweep() -> bool:
    """Return whether this call did the sweep; another process may be at it.

    1. Deployments whose build has ended go on.
    2. Replicas of silent nodes are lost.
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
    for deployment in given_up.exclude(build__state__in=_NO_BUILD):
        deployment_rejoin_build(deployment=deployment)
    ended = Deployment.objects.filter(
        state=DeploymentState.BUILDING, build__state__in=BUILD_TERMINAL
    )
    for build_id in set(ended.values_list("build_id", flat=True)):
        if build_id is not None:
            deployments_after_build(build_id=build_id)


def _mark_lost() -> None:
    silent = Replica.objects.filter(node__in=nodes_silent()).exclude(
        state__in=[*REPLICA_TERMINAL, ReplicaState.LOST]
    )
    for deployment_id in sorted(set(silent.values_list("deployment_id", flat=True))):
        with transaction.atomic():
            Deployment.objects.select_for_update(no_key=True).get(id=deployment_id)
            mine = silent.filter(deployment_id=deployment_id).order_by("id")
            for replica in mine.select_for_update(of=("self",), no_key=True):
                # An order that no agent has confirmed leaves nothing behind: it is just withdrawn.
                is_unheard = replica.state == ReplicaState.ORDERED
                to = ReplicaState.STOPPED if is_unheard else ReplicaState.LOST
                replica_move(replica=replica, to=to)


def _advance_environments() -> None:
    rolling = Environment.objects.filter(
        Q(candidate__isnull=False) | Q(promotion_version__isnull=False)
    )
    for environment_id in rolling.values_list("id", flat=True):
        for released_id in environment_advance(environment_id=environment_id):
            deployment_settle(deployment_id=released_id)


def _settle_deployments() -> None:
    alive = Replica.objects.exclude(state__in=REPLICA_TERMINAL).values("deployment_id")
    moving = Deployment.objects.filter(~Q(state__in=RESTING) | Q(id__in=alive))
    _each(moving.order_by("id").values_list("id", flat=True))


def _each(deployment_ids: Iterable[str]) -> None:
    for deployment_id in deployment_ids:
        try:
            deployment_settle(deployment_id=deployment_id)
        except Exception:
            # One broken deployment must not hold up the rest of the fleet.
            _log.exception("deployment %s was not reconciled", deployment_id)
