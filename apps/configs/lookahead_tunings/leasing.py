from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django.db.models import Q

from apps.configs.lookahead_tunings.gathering import gatherings_tidy
from apps.configs.lookahead_tunings.models import LookaheadTuning
from apps.configs.revision_secrets import revision_secrets
from apps.configs.traffic_samples.services import held_tidy
from apps.leases.database_clock import ClockTimestamp
from apps.leases.kind_parts import failed_with, on_queue_of_pool
from apps.leases.kinds import LeaseKind
from controlplane import clock
from controlplane.domain.failures.registry import calibration
from controlplane.domain.lifecycle import StepState

MOST_CLAIMS = 5
KEPT_FOR = timedelta(days=90)


def _tidy() -> None:
    gatherings_tidy()
    held_tidy()
    LookaheadTuning.objects.filter(created_at__lt=clock.now() - KEPT_FOR).delete()


def _given_up() -> Mapping[str, Any]:
    failure = calibration.TUNING_LOST.failure(times=MOST_CLAIMS)
    return failed_with(failure, state=StepState.FAILED)


TUNING = LeaseKind(
    name="tuning",
    model=LookaheadTuning,
    task="configs.tune_lookahead",
    queue_of=on_queue_of_pool,
    queue_columns=("pool",),
    secrets_of=revision_secrets,
    related=("team", "revision"),
    is_open=Q(state__in=[StepState.WAITING, StepState.RUNNING]),
    may_be_claimed=Q(cancel_requested_at=None, gathers_from__isnull=True),
    waiting={"state": StepState.WAITING},
    claimed={"state": StepState.RUNNING},
    cancel_column="cancel_requested_at",
    cancelled={"state": StepState.CANCELLED, "finished_at": ClockTimestamp()},
    tidy=_tidy,
    most_claims=MOST_CLAIMS,
    given_up=_given_up,
)
