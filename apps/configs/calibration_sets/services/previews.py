"""Previews: asked for by people, made by a build worker under a lease, kept for a week."""

from difflib import get_close_matches
from typing import Any

from django.db import transaction

from apps.accounts.audit.recording import audit
from apps.accounts.models import User
from apps.configs.calibration_sets.leasing import PREVIEW
from apps.configs.calibration_sets.models import CalibrationPreview
from apps.configs.calibration_sets.selectors import known_sets
from apps.configs.models import Revision
from apps.leases.database_clock import ClockTimestamp
from apps.leases.lease import Lease
from apps.leases.queue import work_send
from apps.leases.services import lease_end
from apps.rest.errors import InvalidInput
from controlplane.domain.facts.calibration_sets import PREFIX, is_team_form, reference_of
from controlplane.domain.failures import Failure
from controlplane.domain.lifecycle import StepState
from controlplane.domain.spec import Spec


def preview_request(
    *, revision: Revision, dataset: str | None = None, user: User | None = None
) -> CalibrationPreview:
    """Return a preview that waits, or is being made, of the revision's model on some data.

    `dataset` is the revision's own where none is named. Raises InvalidInput for a set that the
    team does not have.
    """
    spec = Spec.model_validate(revision.spec)
    dataset = dataset or spec.engine_build.quantization_config.calib_dataset
    check_dataset(revision, dataset)
    open_states = [StepState.WAITING, StepState.RUNNING]
    with transaction.atomic():
        # Held so that two presses of a button make one preview.
        Revision.objects.select_for_update(no_key=True).get(id=revision.id)
        known = CalibrationPreview.objects.filter(
            revision=revision, dataset=dataset, state__in=open_states
        ).first()
        if known is not None:
            return known
        preview = CalibrationPreview.objects.create(
            team=revision.config.team,
            revision=revision,
            dataset=dataset,
            pool=spec.pool,
            created_by=user,
        )
        audit("calibration.preview", revision, team=preview.team, after={"dataset": dataset})
        work_send(PREVIEW, preview)
    return preview


def preview_finish(
    *, lease: Lease, result: dict[str, Any] | None = None, failure: Failure | None = None
) -> bool:
    """Return whether the result was stored; that of a worker whose lease was taken is dropped."""
    outcome: dict[str, Any] = {"state": StepState.FINISHED, "result": result}
    if failure is not None:
        outcome = {"state": StepState.FAILED, "failure": failure.to_json()}
    return lease_end(lease=lease, finished_at=ClockTimestamp(), **outcome)


def check_dataset(revision: Revision, dataset: str) -> None:
    """Raise InvalidInput for a set that the team does not have."""
    if not is_team_form(dataset):
        return
    known = {each.name: each for each in known_sets(team=revision.config.team)}
    reference = reference_of(dataset)
    if reference and reference.name in known and known[reference.name].version(reference.version):
        return
    close = get_close_matches(dataset, [PREFIX + name for name in known], n=1)
    raise InvalidInput(
        f"The team has no calibration set `{dataset}`.",
        code="calibration_set_unknown",
        fields=["dataset"],
        hint=f"Did you mean `{close[0]}`?" if close else "Upload it under Calibration data first.",
    )
