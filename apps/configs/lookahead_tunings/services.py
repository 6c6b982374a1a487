"""Tunings: asked for by people, made by a build worker under a lease, and taken over."""

from typing import Any

from django.db import transaction

from apps.accounts.audit.recording import audit
from apps.accounts.models import User
from apps.configs.calibration_sets.services.previews import check_dataset
from apps.configs.lookahead_tunings.gathering import gateways_for, is_traffic
from apps.configs.lookahead_tunings.judging import result_of
from apps.configs.lookahead_tunings.leasing import TUNING
from apps.configs.lookahead_tunings.models import LookaheadTuning
from apps.configs.models import Revision
from apps.configs.selectors import revision_last
from apps.configs.services.configs import revision_create
from apps.leases.database_clock import ClockTimestamp
from apps.leases.lease import Lease, LeaseLost
from apps.leases.queue import work_send
from apps.leases.services import lease_end, lease_held
from apps.rest.errors import Conflict, InvalidInput
from controlplane import clock
from controlplane.domain.failures import Failure
from controlplane.domain.lifecycle import StepState
from controlplane.domain.lookahead_tuning.settings import LookaheadSetting
from controlplane.domain.spec import Spec
from controlplane.domain.spec.edit import UneditableTextError, edit_yaml
from controlplane.domain.spec.trt_llm import TrtLlmV2

MOST_REQUESTS = 1024


def tuning_request(
    *, revision: Revision, dataset: str, requests: int = 1, user: User | None = None
) -> LookaheadTuning:
    """Return a tuning that waits, or is being made, of the revision on a set or on own traffic.

    Raises InvalidInput for a set or samples that the team does not have, and for a config that
    cannot look ahead.
    """
    spec = Spec.model_validate(revision.spec)
    gateways = _source(revision, dataset)
    _check_drafts(spec)
    with transaction.atomic():
        # Held so that two presses of a button make one tuning.
        Revision.objects.select_for_update(no_key=True).get(id=revision.id)
        same = {"revision": revision, "dataset": dataset, "requests": requests}
        known = LookaheadTuning.objects.filter(
            TUNING.is_open, cancel_requested_at=None, **same
        ).first()
        if known is not None:
            return known
        tuning = LookaheadTuning.objects.create(
            team=revision.config.team,
            pool=spec.pool,
            created_by=user,
            gathers_from=gateways,
            progress_total=len(gateways) if gateways else None,
            progress_unit="gateways" if gateways else "",
            **same,
        )
        audit("lookahead.tune", revision, team=tuning.team, after={"dataset": dataset})
        if gateways is None:
            work_send(TUNING, tuning)
    return tuning


def tuning_cancel(*, tuning: LookaheadTuning) -> None:
    """End a tuning: a waiting one at once, a running one within seconds. Raises Conflict."""
    rows = LookaheadTuning.objects.filter(TUNING.is_open, id=tuning.id)
    now = clock.now()
    with transaction.atomic():
        ended = rows.filter(state=StepState.WAITING).update(
            state=StepState.CANCELLED, cancel_requested_at=now, finished_at=now
        )
        if not ended and not rows.update(cancel_requested_at=now):
            raise Conflict("The tuning has ended and cannot be cancelled.")
        audit("lookahead.cancel_tuning", tuning, team=tuning.team)


def tuning_progress(*, lease: Lease, done: int, total: int | None, unit: str) -> None:
    """Store how far a tuning is. Raises LeaseLost."""
    with lease_held(lease) as tuning:
        LookaheadTuning.objects.filter(id=tuning.id).update(
            progress_done=done, progress_total=total, progress_unit=unit
        )


def tuning_finish(
    *, lease: Lease, counted: dict[str, Any] | None = None, failure: Failure | None = None
) -> bool:
    """Return whether the result was stored; that of a worker whose lease was taken is dropped."""
    outcome: dict[str, Any] = {"state": StepState.FAILED}
    if failure is not None:
        outcome["failure"] = failure.to_json()
    elif counted is not None:
        tuning = LookaheadTuning.objects.select_related("revision__config__team").get(id=lease.id)
        outcome = {"state": StepState.FINISHED, "result": result_of(tuning, counted)}
    return lease_end(lease=lease, finished_at=ClockTimestamp(), **outcome)


def tuning_cancelled(*, lease: Lease) -> None:
    """Store that a tuning ended because a person asked for that. Raises LeaseLost."""
    if not lease_end(lease=lease, state=StepState.CANCELLED, finished_at=ClockTimestamp()):
        raise LeaseLost(lease.id)


def tuning_apply(*, tuning: LookaheadTuning, user: User | None = None) -> Revision:
    """Return the revision that has the recommended setting, made on the config's newest text.

    Raises Conflict where there is no recommendation, and InvalidInput where it cannot be written.
    """
    recommended = (tuning.result or {}).get("recommended")
    base = revision_last(config=tuning.revision.config)
    if recommended is None or base is None:
        raise Conflict("The tuning recommends nothing, so there is nothing to take over.")
    setting = LookaheadSetting.from_json(recommended["setting"])
    try:
        text = edit_yaml(base.text, setting.patch)
    except UneditableTextError as error:
        raise InvalidInput(str(error), fields=["text"]) from None
    revision = revision_create(
        config=base.config, text=text, user=user, expected_revision=base.number
    )
    LookaheadTuning.objects.filter(id=tuning.id).update(made_revision=revision)
    return revision


def _source(revision: Revision, dataset: str) -> list[str] | None:
    """Return the gateways that replay their samples, None where a build worker replays a set."""
    if is_traffic(dataset):
        return gateways_for(revision.config.team, dataset)
    check_dataset(revision, dataset)
    return None


def _check_drafts(spec: Spec) -> None:
    if isinstance(spec.trt_llm, TrtLlmV2):
        raise InvalidInput(
            "A config of the newer stack (`inference_stack: v2`) has no lookahead.",
            code="lookahead_unknown",
            fields=["config_id"],
            hint="Drafts are made there by `patch_kwargs.speculative_config`.",
        )
    if spec.base_model.is_encoder:
        raise InvalidInput(
            "An encoder writes no text, so there is nothing to draft.",
            code="lookahead_unknown",
            fields=["config_id"],
            hint="Take the config of a model that generates.",
        )
