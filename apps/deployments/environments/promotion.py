"""How an environment comes to point at another deployment.

1. `environment_promote` names the candidate, whose replicas start: as many as it will need. Where
   they are ready already, it takes the second step as well.
2. Once as many are ready as carry the traffic now, routes point at it; the old deployment keeps
   running. Where no more become ready for `PROGRESS_DEADLINE`, the promotion fails instead.
3. Once every live gateway works by those routes, the old one is cleaned up as the environment says.

Where the environment moves in steps (`rolling`), the second one comes at the end of them.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db import transaction

from apps.accounts.routes_version import THE_VERSION, routes_version_bump
from apps.deployments.environments.capacity import Capacity, capacity_of
from apps.deployments.environments.inheriting import settings_inherit
from apps.deployments.environments.promotion_settings import promotion_settings
from apps.deployments.environments.rolling.carrying import roll_advance
from apps.deployments.environments.rolling.plan import is_rolling, roll_of
from apps.deployments.models import Deployment, Environment
from apps.deployments.plan import is_at_rest
from apps.fleet.selectors import gateways_have_applied
from controlplane import clock
from controlplane.compiled_query import CompiledQuery
from controlplane.compiled_update import Write, update_of
from controlplane.domain.lifecycle import DEPLOYMENT_TERMINAL, DeploymentState
from controlplane.domain.rolling.roll import Roll, Status
from controlplane.domain.rolling.step import Outcome

PROGRESS_DEADLINE = timedelta(hours=1)
_PLACES = ("candidate", "current", "retiring")
_WAITING = (
    "ready_replicas", "needed_replicas", "waits_for", "most_ready", "gives_up_at", "step_code",
    "plan", "roll", "share_version", "by_header", "guard", "answers",
)  # fmt: skip
_LOCKED = CompiledQuery(
    list,
    lambda ids: (
        Deployment.objects.extra(where=["id = ANY(%s)"], params=[ids])
        .defer("spec", "checkpoint")
        .order_by("id")
        .select_for_update(no_key=True)
    ),
)


_LOCKED_PLACE = CompiledQuery(
    int, lambda id: Environment.objects.filter(id=id).select_for_update(no_key=True)
)


@transaction.atomic
def environment_advance(*, environment_id: int) -> list[str]:
    """Take the next step of a promotion and return the deployments that want other replicas now."""
    environment = _LOCKED_PLACE.first(environment_id)
    if environment is None:
        return []
    deployments_lock(environment)
    changed = []
    if environment.candidate is not None:
        changed = _advance_candidate(environment, environment.candidate)
    if environment.promotion_version is None:
        return changed
    if not gateways_have_applied(environment.promotion_version):
        return changed
    return [*changed, *_finish(environment)]


def candidate_let_go(candidate: Deployment) -> None:
    """Let a candidate run as many replicas as it was told to before a promotion asked for more."""
    own = max(1, candidate.min_replica)
    Deployment.objects.filter(id=candidate.id, wanted_replicas__gt=own).update(wanted_replicas=own)


def deployments_lock(environment: Environment, *more: str) -> Mapping[str, Deployment]:
    """Return by id, locked, those that the environment names, and these.

    Before the routes, which are held to the end of a transaction that has changed one.
    """
    ids = {place: getattr(environment, f"{place}_id") for place in _PLACES}
    wanted_ids = {each for each in [*ids.values(), *more] if each}
    locked = {each.id: each for each in _LOCKED.rows(sorted(wanted_ids))}
    for place in _PLACES:
        if ids[place] in locked:
            setattr(environment, place, locked[ids[place]])
    return locked


class Switch(NamedTuple):
    """Whether an environment now points at its candidate, and that wants other replicas now."""

    is_done: bool
    is_resized: bool = False


def environment_switch(environment: Environment, beside: Sequence[Write]) -> Switch:
    """Return what became of the environment, which is locked with its deployments.

    Where it is done, so is what is to be written beside it.
    """
    candidate = environment.candidate
    if candidate is None or is_rolling(environment) or not _serves(candidate):
        return Switch(is_done=False)
    if not capacity_of(environment, candidate).suffices:
        return Switch(is_done=False)
    return Switch(is_done=True, is_resized=_switch(environment, candidate, beside))


def _advance_candidate(environment: Environment, candidate: Deployment) -> list[str]:
    """Return the candidate's id where it now wants another number of replicas."""
    if candidate.state in DEPLOYMENT_TERMINAL:
        reason = (candidate.failure or {}).get("sentence", f"it is {candidate.state}")
        return _fail(environment, candidate, reason)
    if candidate.state == DeploymentState.BUILDING or environment.promotion_version is not None:
        return []
    if is_rolling(environment) and environment.current is not None:
        return _roll(environment, candidate, environment.current)
    capacity = capacity_of(environment, candidate)
    if _serves(candidate) and capacity.suffices:
        return [candidate.id] if _switch(environment, candidate) else []
    return _wait(environment, candidate, capacity)


def _roll(environment: Environment, candidate: Deployment, current: Deployment) -> list[str]:
    carried = roll_advance(environment, candidate, current)
    if carried.outcome is Outcome.SWITCH:
        promotion_switch(environment, candidate)
        return [candidate.id, current.id]
    if carried.outcome is Outcome.RETURNED:
        promotion_end(environment, roll_of(environment, carried=0))
        return [candidate.id, current.id]
    return carried.changed


def promotion_switch(environment: Environment, candidate: Deployment) -> None:
    """Point the environment at its candidate now; the caller holds both, and settles them."""
    _switch(environment, candidate)


def promotion_end(environment: Environment, roll: Roll) -> None:
    """Send all traffic to the deployment in place again, and release the candidate."""
    because, candidate_id = roll.returns_because, environment.candidate_id
    _restore(environment, roll)
    if environment.candidate is not None:
        candidate_let_go(environment.candidate)
    environment.candidate = None
    environment.promotion = {
        "status": (Status.FAILED if because else Status.CANCELED).value,
        "percent_traffic_to_new_version": 0,
        "error_message": because or None,
    }
    environment.save(update_fields=["candidate", "promotion"])
    _routes_bump(environment, environment.current_id, candidate_id)


def _restore(environment: Environment, roll: Roll) -> None:
    """Have the deployment in place run as many replicas again as carried the traffic."""
    Deployment.objects.filter(
        id=environment.current_id, wanted_replicas__gt=0, wanted_replicas__lt=roll.total
    ).update(wanted_replicas=roll.total)


def _serves(candidate: Deployment) -> bool:
    # Of one that was put to sleep meanwhile, replicas may be ready until they have left.
    return candidate.state == DeploymentState.ACTIVE and not is_at_rest(candidate)


def _wait(environment: Environment, candidate: Deployment, capacity: Capacity) -> list[str]:
    promotion = _waiting_promotion(environment.promotion or {}, candidate, capacity)
    if clock.now() >= datetime.fromisoformat(promotion["gives_up_at"]):
        return _fail(environment, candidate, _stalled(candidate, capacity))
    if promotion != environment.promotion:
        environment.promotion = promotion
        environment.save(update_fields=["promotion"])
    # None of one that a person has put to sleep meanwhile.
    fewer = Deployment.objects.filter(
        id=candidate.id, wanted_replicas__gt=0, wanted_replicas__lt=capacity.needed
    )
    return [candidate.id] if fewer.update(wanted_replicas=capacity.needed) else []


def _waiting_promotion(
    promotion: Mapping[str, Any], candidate: Deployment, capacity: Capacity
) -> dict[str, Any]:
    """Return the promotion with what it waits for; more ready than ever before is progress."""
    most = promotion.get("most_ready", -1)
    is_progress = capacity.ready > most
    gives_up_at = (clock.now() + PROGRESS_DEADLINE).isoformat()
    return {
        **promotion,
        "ready_replicas": capacity.ready,
        "needed_replicas": capacity.needed,
        "waits_for": _waits_for(candidate, capacity),
        "most_ready": max(most, capacity.ready),
        "gives_up_at": gives_up_at if is_progress else promotion["gives_up_at"],
    }


def _waits_for(candidate: Deployment, capacity: Capacity) -> str:
    if is_at_rest(candidate):
        return f"Deployment `{candidate.name}` was put to sleep: activate it, or promote another."
    return capacity.words


def _stalled(candidate: Deployment, capacity: Capacity) -> str:
    minutes = int(PROGRESS_DEADLINE.total_seconds() // 60)
    cause = (candidate.failure or {}).get("sentence", "")
    return (
        f"{_waits_for(candidate, capacity)} No more became ready for {minutes} minutes. {cause} "
        "Make room, or lower `max_replica` of the environment, and promote again."
    ).replace("  ", " ")


def _fail(environment: Environment, candidate: Deployment, reason: str) -> list[str]:
    changed = [candidate.id]
    if is_rolling(environment):
        _restore(environment, roll_of(environment, carried=1))
        changed += [environment.current_id or ""]
    environment.candidate = None
    environment.promotion = {
        "status": "FAILED",
        "percent_traffic_to_new_version": 0,
        "error_message": f"Deployment `{candidate.name}` did not become ready: {reason}",
    }
    environment.save(update_fields=["candidate", "promotion"])
    candidate_let_go(candidate)
    _routes_bump(environment, candidate.id, environment.current_id)
    return changed


def _switch(environment: Environment, candidate: Deployment, beside: Sequence[Write] = ()) -> bool:
    """Return whether the candidate now wants another number of replicas."""
    is_resized = settings_inherit(environment, candidate)
    environment.retiring_id = environment.current_id
    environment.current = candidate
    environment.candidate = None
    environment.promotion = {
        **_settled(environment.promotion or {}),
        "percent_traffic_to_new_version": 100,
    }
    changed = ("retiring_id", "current_id", "candidate_id", "promotion")
    row = {name: getattr(environment, name) for name in changed}
    stored = update_of(Environment, row | {"promotion_version": THE_VERSION}, id=environment.id)
    environment.promotion_version = _routes_bump(
        environment, candidate.id, environment.retiring_id, beside=[stored, *beside]
    )
    return is_resized


def _routes_bump(
    environment: Environment, *deployment_ids: str | None, beside: Sequence[Write] = ()
) -> int:
    named = [each for each in deployment_ids if each is not None]
    return routes_version_bump(models=[environment.model_id], deployments=named, beside=beside)


def _settled(promotion: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in promotion.items() if key not in _WAITING}


def _finish(environment: Environment) -> list[str]:
    retiring = environment.retiring
    keep_previous = (environment.promotion or {}).get("keep_previous", False)
    environment.retiring = None
    environment.promotion = None
    environment.promotion_version = None
    environment.save(update_fields=["retiring", "promotion", "promotion_version"])
    cleanup = promotion_settings(environment)["promotion_cleanup_strategy"]
    if retiring is None or keep_previous or cleanup == "KEEP" or _is_needed(retiring):
        return []
    # Without a least number, or it would not stay asleep.
    changes: dict[str, Any] = {"wanted_replicas": 0, "min_replica": 0}
    if cleanup == "DEACTIVATE":
        changes["state"] = DeploymentState.DEACTIVATING
    Deployment.objects.filter(id=retiring.id).exclude(state__in=DEPLOYMENT_TERMINAL).update(
        **changes
    )
    return [retiring.id]


def _is_needed(deployment: Deployment) -> bool:
    """Whether another environment points at the deployment, or is about to."""
    return any(places.exists() for places in (deployment.current_of, deployment.candidate_of))
