from collections.abc import Mapping
from typing import Any

from django.db.models import Q
from django.db.models.functions import Coalesce

from apps.builds.models import ArtifactPush
from apps.leases.database_clock import ClockTimestamp
from apps.leases.kind_parts import failed_with, on_queue_of_pool
from apps.leases.kinds import LeaseKind
from apps.secrets.services.values import secrets_reveal
from controlplane.domain.failures.registry import pushes
from controlplane.domain.lifecycle import PUSH_TERMINAL, PushState

MOST_CLAIMS = 5


def _secrets_of(push: ArtifactPush) -> Mapping[str, str]:
    return secrets_reveal(team=push.team, names=[push.secret_name])


def _given_up() -> Mapping[str, Any]:
    failure = pushes.LOST.failure(times=MOST_CLAIMS)
    return failed_with(failure, state=PushState.FAILED)


PUSH = LeaseKind(
    name="push",
    model=ArtifactPush,
    task="artifacts.push",
    queue_of=on_queue_of_pool,
    queue_columns=("pool",),
    secrets_of=_secrets_of,
    related=("team",),
    is_open=~Q(state__in=PUSH_TERMINAL),
    may_be_claimed=Q(cancel_requested_at=None),
    waiting={"state": PushState.QUEUED},
    claimed={
        "state": PushState.RUNNING,
        "started_at": Coalesce("started_at", ClockTimestamp()),
    },
    cancel_column="cancel_requested_at",
    cancelled={"state": PushState.CANCELLED, "finished_at": ClockTimestamp()},
    most_claims=MOST_CLAIMS,
    given_up=_given_up,
)
