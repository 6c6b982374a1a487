"""Tunings of lookahead as work that a build worker leases."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django.db.models import Q

from apps.configs.lookahead_tunings.gathering import gatherings_tidy
from apps.configs.lookahead_tunings.models import LookaheadTuning
from apps.configs.traffic_samples.services import held_tidy
from apps.leases.database_clock import ClockTimestamp
from apps.leases.kinds import LeaseKind
from apps.secrets.services.values import secrets_reveal
from controlplane import clock
from controlplane.celery import build_queue
from controlplane.domain.failures.registry import calibration
from controlplane.domain.lifecycle import StepState
from controlplane.domain.spec import Spec

MOST_CLAIMS = 5
KEPT_FOR = timedelta(days=90)


def _queue_of(tuning: LookaheadTuning) -> str:
    return build_queue(tuning.pool)


def _secrets_of(tuning: LookaheadTuning) -> Mapping[str, str]:
    names = Spec.model_validate(tuning.revision.spec).secret_names
    return secrets_reveal(team=tuning.team, names=names)


def _tidy() -> None:
    gatherings_tidy()
    held_tidy()
    LookaheadTuning.objects.filter(created_at__lt=clock.now() - KEPT_FOR).delete()
    # One whose worker died between the request and its end.
    LookaheadTuning.objects.filter(
        TUNING.is_open, cancel_requested_at__isnull=False, lease_expires_at=None
    ).update(state=StepState.CANCELLED, finished_at=clock.now())


def _given_up() -> Mapping[str, Any]:
    failure = calibration.TUNING_LOST.failure(times=MOST_CLAIMS)
    return {
        "state": StepState.FAILED,
        "failure": failure.to_json(),
        "finished_at": ClockTimestamp(),
    }


TUNING = LeaseKind(
    name="tuning",
    model=LookaheadTuning,
    task="configs.tune_lookahead",
    queue_of=_queue_of,
    queue_columns=("pool",),
    secrets_of=_secrets_of,
    related=("team", "revision"),
    is_open=Q(state__in=[StepState.WAITING, StepState.RUNNING]),
    may_be_claimed=Q(cancel_requested_at=None, gathers_from__isnull=True),
    waiting={"state": StepState.WAITING},
    claimed={"state": StepState.RUNNING},
    cancel_column="cancel_requested_at",
    tidy=_tidy,
    most_claims=MOST_CLAIMS,
    given_up=_given_up,
)
