"""Previews of calibration data as work that a build worker leases."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django.db.models import Q

from apps.configs.calibration_sets.models import CalibrationPreview
from apps.configs.revision_secrets import revision_secrets
from apps.leases.kind_parts import failed_with, on_queue_of_pool
from apps.leases.kinds import LeaseKind
from controlplane import clock
from controlplane.domain.failures.registry import calibration
from controlplane.domain.lifecycle import StepState

MOST_CLAIMS = 5
_FORGET_AFTER = timedelta(days=7)


def _forget_old() -> None:
    CalibrationPreview.objects.filter(created_at__lt=clock.now() - _FORGET_AFTER).delete()


def _given_up() -> Mapping[str, Any]:
    failure = calibration.PREVIEW_LOST.failure(times=MOST_CLAIMS)
    return failed_with(failure, state=StepState.FAILED)


PREVIEW = LeaseKind(
    name="preview",
    model=CalibrationPreview,
    task="configs.preview_calibration",
    queue_of=on_queue_of_pool,
    queue_columns=("pool",),
    secrets_of=revision_secrets,
    related=("team", "revision"),
    is_open=Q(state__in=[StepState.WAITING, StepState.RUNNING]),
    waiting={"state": StepState.WAITING},
    claimed={"state": StepState.RUNNING},
    tidy=_forget_old,
    most_claims=MOST_CLAIMS,
    given_up=_given_up,
)
