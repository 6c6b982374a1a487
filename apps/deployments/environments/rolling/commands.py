"""What a person, a program or a guard may ask of a promotion under way."""

from dataclasses import replace
from typing import Any

from django.db import transaction

from apps.deployments.environments.promotion import (
    deployments_lock,
    promotion_end,
    promotion_switch,
)
from apps.deployments.environments.rolling.carrying import routes_bump
from apps.deployments.environments.rolling.history import ITSELF, event_add
from apps.deployments.environments.rolling.plan import is_rolling, roll_of
from apps.deployments.environments.services import environment_audit
from apps.deployments.models import Environment, Replica
from apps.deployments.plan import is_at_rest
from apps.deployments.services.reconcile import deployment_settle_after_commit
from apps.rest.errors import Conflict
from controlplane.domain.lifecycle import ReplicaState
from controlplane.domain.rolling.roll import (
    Direction,
    Pause,
    Roll,
    Status,
    paused,
    resumed,
    returning,
)


@transaction.atomic
def promotion_pause(
    *, environment: Environment, actor: str = "", why: Pause = Pause.BY_HAND, sentence: str = ""
) -> None:
    """Have the promotion stay where it is. Raises Conflict where none is, or it is paused."""
    row, roll = _under_way(environment)
    if row.current_id is None:
        raise Conflict(
            f"`{row.name}` has no deployment yet: its first one takes over once it is ready.",
            hint="Cancel the promotion instead.",
        )
    if roll.paused is not None:
        raise Conflict(f"The promotion to `{row.name}` is paused already. {roll.why_paused}")
    _keep(row, paused(roll, why, sentence))
    _record(row, "pause", sentence or f"Paused at {roll.percent} %.", actor, roll, roll.percent)


@transaction.atomic
def promotion_resume(*, environment: Environment, actor: str = "") -> None:
    """Have a paused promotion go on. Raises Conflict."""
    row, roll = _under_way(environment)
    if roll.paused is None:
        raise Conflict(f"The promotion to `{row.name}` is not paused.")
    _keep(row, resumed(roll))
    _record(row, "resume", f"It goes on from {roll.percent} %.", actor, roll, roll.percent)
    _settle(row)


@transaction.atomic
def promotion_cancel(*, environment: Environment, actor: str = "", because: str = "") -> Status:
    """Return whether it is over at once or goes back in steps, as replicas are ready again.

    Raises Conflict where none is under way, or it goes back already.
    """
    row, roll = _under_way(environment)
    if roll.direction is Direction.DOWN:
        raise Conflict(
            f"The promotion to `{row.name}` goes back already.",
            hint="Force the cancellation to move all traffic at once.",
        )
    if not roll.percent:
        return _back_at_once(row, roll, actor, "cancel_promotion", because)
    _keep(row, returning(roll, because))
    reason = because or f"Cancelled at {roll.percent} %: it goes back in steps."
    _record(row, "cancel_promotion", reason, actor, roll, roll.percent)
    _settle(row)
    return Status.RAMPING_DOWN


@transaction.atomic
def promotion_force_cancel(*, environment: Environment, actor: str = "") -> None:
    """Move all traffic back at once, whatever is ready to carry it. Raises Conflict."""
    row, roll = _under_way(environment)
    _back_at_once(row, roll, actor, "force_cancel_promotion", "")


@transaction.atomic
def promotion_force_forward(*, environment: Environment, actor: str = "") -> None:
    """Move all traffic to the candidate at once, also on the way back. Raises Conflict."""
    row, roll = _under_way(environment)
    candidate = row.candidate
    ready = Replica.objects.filter(
        deployment_id=row.candidate_id, wanted="running", state=ReplicaState.READY
    ).count()
    if candidate is None or is_at_rest(candidate) or not ready:
        raise Conflict(
            f"No replica of the candidate of `{row.name}` is ready: nothing would answer.",
            hint="Wait for one, or cancel the promotion.",
        )
    reason = f"Forced to 100 % with {ready} ready of {roll.total}."
    _record(row, "force_roll_forward", reason, actor, roll, 100)
    promotion_switch(row, candidate)
    deployment_settle_after_commit(deployment_id=candidate.id)


def _under_way(environment: Environment) -> tuple[Environment, Roll]:
    """Return the environment, locked with its deployments, and its roll. Raises Conflict."""
    row = Environment.objects.select_for_update(no_key=True).get(id=environment.id)
    deployments_lock(row)
    if row.candidate_id is None:
        raise Conflict(f"Nothing is being promoted to `{row.name}`.")
    carried = Replica.objects.filter(
        deployment_id=row.current_id, wanted="running", state=ReplicaState.READY
    ).count()
    return row, roll_of(row, carried=carried)


def _keep(row: Environment, roll: Roll) -> None:
    promotion: dict[str, Any] = {**(row.promotion or {}), "roll": roll.to_json()}
    promotion.setdefault("plan", {})
    promotion |= {"status": roll.status.value, "percent_traffic_to_new_version": roll.percent}
    promotion["waits_for"] = roll.why_paused or roll.returns_because or promotion.get("waits_for")
    is_new = "roll" not in (row.promotion or {})
    row.promotion = promotion
    row.save(update_fields=["promotion"])
    if is_new:
        routes_bump(row)


def _back_at_once(row: Environment, roll: Roll, actor: str, what: str, because: str) -> Status:
    reason = because or f"All traffic is back at once, from {roll.percent} %."
    _record(row, what, reason, actor, roll, 0)
    ids = (row.candidate_id, row.current_id)
    promotion_end(row, replace(roll, percent=0, returns_because=because))
    for each in ids:
        if each is not None:
            deployment_settle_after_commit(deployment_id=each)
    return Status.FAILED if because else Status.CANCELED


def _record(row: Environment, what: str, reason: str, actor: str, roll: Roll, percent: int) -> None:
    before = {"candidate": row.candidate_id, "percent": roll.percent}
    entry = environment_audit(what, row, before=before, after={"percent": percent})
    event_add(
        row,
        code=what,
        sentence=reason,
        percents=(roll.percent, percent),
        actor=actor or entry.actor_label or ITSELF,
    )


def _settle(row: Environment) -> None:
    assert row.candidate_id is not None
    if is_rolling(row):
        deployment_settle_after_commit(deployment_id=row.candidate_id)
