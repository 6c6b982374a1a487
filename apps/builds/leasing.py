"""Builds as work that a worker leases."""

from collections.abc import Collection, Mapping

from django.db.models import Q
from django.db.models.functions import Coalesce

from apps.builds.models import Build
from apps.fleet.services import cards_release
from apps.leases.database_clock import ClockTimestamp
from apps.leases.kinds import LeaseKind
from apps.secrets.services import secrets_reveal
from controlplane.celery import build_queue
from controlplane.domain.lifecycle import BUILD_TERMINAL, BuildState
from controlplane.domain.spec import Spec

RUNNING = frozenset(BuildState) - BUILD_TERMINAL - {BuildState.QUEUED}


def card_holder(build_id: str) -> str:
    """Return the name by which a build holds cards."""
    return f"build:{build_id}"


def _release_cards(build_ids: Collection[str]) -> None:
    for build_id in build_ids:
        cards_release(holder=card_holder(build_id))


def _secrets_of(build: Build) -> Mapping[str, str]:
    names = Spec.model_validate(build.revision.spec).secret_names
    return secrets_reveal(team=build.team, names=names)


def _queue_of(build: Build) -> str:
    return build_queue(build.pool)


BUILD = LeaseKind(
    name="build",
    model=Build,
    task="build.run",
    queue_of=_queue_of,
    queue_columns=("pool",),
    secrets_of=_secrets_of,
    related=("team", "revision"),
    is_open=~Q(state__in=BUILD_TERMINAL),
    may_be_claimed=Q(cancel_requested_at=None),
    waiting={"state": BuildState.QUEUED},
    claimed={
        "state": BuildState.FETCHING,
        "started_at": Coalesce("started_at", ClockTimestamp()),
    },
    cancel_column="cancel_requested_at",
    let_go=_release_cards,
)
