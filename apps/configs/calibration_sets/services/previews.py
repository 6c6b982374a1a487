"""Previews: asked for by people, made by a build worker under a lease, kept for a week."""

from dataclasses import dataclass, field
from datetime import timedelta
from difflib import get_close_matches
from typing import Any

from django.db import connection, transaction
from django.db.models import DateTimeField, F, Func, Q, QuerySet
from django.utils.crypto import constant_time_compare

from apps.accounts.audit import audit
from apps.accounts.hashing import new_secret, sha256_hex
from apps.accounts.models import User
from apps.configs.calibration_sets.models import CalibrationPreview
from apps.configs.calibration_sets.queue import preview_send
from apps.configs.calibration_sets.selectors import known_sets
from apps.configs.models import Revision
from apps.rest.errors import InvalidInput
from controlplane import clock
from controlplane.celery import build_queue, queue_length
from controlplane.domain.facts.calibration_sets import PREFIX, is_team_form, reference_of
from controlplane.domain.failures import Blame, Failure
from controlplane.domain.lifecycle import StepState
from controlplane.domain.spec import Spec

LEASE_SECONDS = 10.0
RENEW_SECONDS = 3.0
MOST_TAKES = 5
"""How often a preview is begun; one that ends its worker each time must not go round for ever."""
FORGET_AFTER = timedelta(days=7)
SEND_AGAIN_AFTER = timedelta(seconds=5)
_SWEEP_LOCK = 4_702_111_003
_NOW = Func(function="clock_timestamp", output_field=DateTimeField())
_UNHELD = {"lease_expires_at": None, "lease_secret_sha256": ""}


@dataclass(frozen=True, kw_only=True)
class PreviewLease:
    """What a worker holds: the token of its writes, and the secret that redeems secrets."""

    preview_id: str
    token: int
    secret: str = field(repr=False)

    @property
    def marker(self) -> str:
        """What the environment of this preview's processes names."""
        return f"preview/{self.preview_id}/{self.token}"


def preview_request(
    *, revision: Revision, dataset: str | None = None, user: User | None = None
) -> CalibrationPreview:
    """Return a preview that waits, or is being made, of the revision's model on some data.

    `dataset` is the revision's own where none is named. Raises InvalidInput for a set that the
    team does not have.
    """
    spec = Spec.model_validate(revision.spec)
    dataset = dataset or spec.engine_build.quantization_config.calib_dataset
    _check_dataset(revision, dataset)
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
        preview_send(preview_id=preview.id, pool=preview.pool)
    return preview


def preview_claim(*, preview_id: str) -> PreviewLease | None:
    """Return a lease on a preview that nobody makes, or None where another was first."""
    secret = new_secret()
    with transaction.atomic():
        taken = _claimable().filter(id=preview_id, lease_token__lt=MOST_TAKES)
        if not taken.update(
            state=StepState.RUNNING,
            lease_token=F("lease_token") + 1,
            lease_expires_at=_in_one_lease(),
            lease_secret_sha256=sha256_hex(secret),
        ):
            return None
        token = CalibrationPreview.objects.values_list("lease_token", flat=True).get(id=preview_id)
    return PreviewLease(preview_id=preview_id, token=token, secret=secret)


def preview_renew(*, lease: PreviewLease) -> bool:
    """Return whether the lease still stands, renewed."""
    held = _held(lease).filter(lease_expires_at__gt=_NOW)
    return bool(held.update(lease_expires_at=_in_one_lease()))


def preview_release(*, lease: PreviewLease) -> None:
    """Give a preview back unmade, because its worker is being stopped."""
    _held(lease).update(state=StepState.WAITING, **_UNHELD)


def preview_finish(
    *, lease: PreviewLease, result: dict[str, Any] | None = None, failure: Failure | None = None
) -> bool:
    """Return whether the result was stored; that of a worker whose lease was taken is dropped."""
    outcome: dict[str, Any] = {"finished_at": _NOW, **_UNHELD}
    if failure is not None:
        outcome |= {"state": StepState.FAILED, "failure": failure.to_json()}
    else:
        outcome |= {"state": StepState.FINISHED, "result": result}
    return bool(_held(lease).update(**outcome))


def preview_redeemable(*, preview_id: str, token: int, secret: str) -> CalibrationPreview | None:
    """Return the preview when token and secret are those of its live lease."""
    live = CalibrationPreview.objects.select_related("team", "revision")
    preview = live.filter(
        id=preview_id, lease_token=token, lease_expires_at__gt=_NOW, state=StepState.RUNNING
    ).first()
    if preview is None or not constant_time_compare(
        preview.lease_secret_sha256, sha256_hex(secret)
    ):
        return None
    return preview


def previews_sweep() -> int:
    """Return how many previews were sent again because their message or their worker was lost."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [_SWEEP_LOCK])
            if not cursor.fetchone()[0]:
                return 0
        now = clock.now()
        CalibrationPreview.objects.filter(created_at__lt=now - FORGET_AFTER).delete()
        _give_up()
        overdue = _claimable().filter(created_at__lt=now - SEND_AGAIN_AFTER)
        lost = list(overdue.order_by("created_at").values_list("id", "pool")[:100])
    # A queue that still holds messages will be read; more of the same would only pile up.
    quiet = {pool for _, pool in lost if queue_length(build_queue(pool)) == 0}
    for preview_id, pool in lost:
        if pool in quiet:
            preview_send(preview_id=preview_id, pool=pool)
    return sum(pool in quiet for _, pool in lost)


def _check_dataset(revision: Revision, dataset: str) -> None:
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


def _give_up() -> None:
    failure = Failure(
        code="EHC-PREVIEW-LOST",
        blame=Blame.MACHINE,
        sentence=f"The build worker was lost {MOST_TAKES} times while it made this preview.",
        hint="Look at the build worker's log, then ask again.",
    )
    _claimable().filter(lease_token__gte=MOST_TAKES).update(
        state=StepState.FAILED, failure=failure.to_json(), finished_at=_NOW, **_UNHELD
    )


def _claimable() -> QuerySet[CalibrationPreview]:
    expired = Q(lease_expires_at=None) | Q(lease_expires_at__lte=_NOW)
    return CalibrationPreview.objects.filter(
        Q(state=StepState.WAITING) | Q(expired, state=StepState.RUNNING)
    )


def _held(lease: PreviewLease) -> QuerySet[CalibrationPreview]:
    return CalibrationPreview.objects.filter(
        id=lease.preview_id, lease_token=lease.token, state=StepState.RUNNING
    )


def _in_one_lease() -> object:
    return _NOW + timedelta(seconds=LEASE_SECONDS)
