"""Previews of calibration data as work that a build worker leases."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django.db.models import Q

from apps.configs.calibration_sets.models import CalibrationPreview
from apps.leases.database_clock import ClockTimestamp
from apps.leases.kinds import LeaseKind
from apps.secrets.services.values import secrets_reveal
from controlplane import clock
from controlplane.celery import build_queue
from controlplane.domain.failures.registry import calibration
from controlplane.domain.lifecycle import StepState
from controlplane.domain.spec import Spec

MOST_CLAIMS = 5
_FORGET_AFTER = timedelta(days=7)


def _queue_of(preview: CalibrationPreview) -> str:
    return build_queue(preview.pool)


def _secrets_of(preview: CalibrationPreview) -> Mapping[str, str]:
    names = Spec.model_validate(preview.revision.spec).secret_names
    return secrets_reveal(team=preview.team, names=names)


def _forget_old() -> None:
    CalibrationPreview.objects.filter(created_at__lt=clock.now() - _FORGET_AFTER).delete()


def _given_up() -> Mapping[str, Any]:
    failure = calibration.PREVIEW_LOST.failure(times=MOST_CLAIMS)
    return {
        "state": StepState.FAILED,
        "failure": failure.to_json(),
        "finished_at": ClockTimestamp(),
    }


PREVIEW = LeaseKind(
    name="preview",
    model=CalibrationPreview,
    task="configs.preview_calibration",
    queue_of=_queue_of,
    queue_columns=("pool",),
    secrets_of=_secrets_of,
    related=("team", "revision"),
    is_open=Q(state__in=[StepState.WAITING, StepState.RUNNING]),
    waiting={"state": StepState.WAITING},
    claimed={"state": StepState.RUNNING},
    tidy=_forget_old,
    most_claims=MOST_CLAIMS,
    given_up=_given_up,
)
