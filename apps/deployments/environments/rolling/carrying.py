"""One step of a roll, taken in the sweep: sizes of both deployments, and shares at the gateways.

Whoever calls holds the environment and its deployments locked.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from apps.accounts.routes_version import routes_version_bump
from apps.deployments.autoscaling.signal import signals_at
from apps.deployments.autoscaling.sizes import settings_of
from apps.deployments.environments.rolling.answers.guarding import answers_guarded
from apps.deployments.environments.rolling.guarding import guard_begun, guarded
from apps.deployments.environments.rolling.history import event_add
from apps.deployments.environments.rolling.plan import roll_of, settings_of_roll
from apps.deployments.models import Deployment, Environment, Replica
from apps.deployments.plan import is_at_rest
from apps.fleet.selectors import gateways_have_applied
from controlplane import clock
from controlplane.domain.lifecycle import REPLICA_TERMINAL, DeploymentState, ReplicaState
from controlplane.domain.rolling.roll import Direction, Roll, Status, returning
from controlplane.domain.rolling.step import Outcome, Sizes, Step, StepCode, next_step
from controlplane.domain.scaling.formula import Load, replicas_for

_WAITS = (StepCode.WAITS_FOR_REPLICAS, StepCode.WAITS_FOR_ROOM)
_EVENTS = frozenset(
    {
        StepCode.SHARE_RAISED,
        StepCode.SHARE_LOWERED,
        StepCode.REPLICAS_MOVED,
        StepCode.CANARY_HOLDS,
        StepCode.SWITCHED,
        StepCode.RETURNED,
    }
)
PROGRESS_DEADLINE = timedelta(hours=1)
"""A roll that waits for replicas for so long, without one more that became ready, goes back."""


@dataclass(frozen=True, kw_only=True)
class Carried:
    """What became of the roll, and the deployments that want another number of replicas now."""

    outcome: Outcome
    changed: list[str]
    returns_because: str = ""


def roll_advance(environment: Environment, candidate: Deployment, current: Deployment) -> Carried:
    now = clock.now()
    sizes = _sizes(environment, candidate, current, now)
    roll = roll_of(environment, carried=max(sizes.current_ready, current.min_replica))
    roll, awaited = answers_guarded(environment, roll, is_ready=sizes.candidate_ready > 0)
    roll, sizes = guarded(environment, roll), replace(sizes, answers_awaited=awaited)
    step = next_step(settings_of_roll(environment), roll, sizes, now=now.timestamp())
    step = _given_up(environment, step, sizes, now)
    _tell(environment, roll, step)
    _store(environment, roll, step, sizes, now)
    changed = _resize(candidate, step.candidate_wanted) + _resize(current, step.current_wanted)
    return Carried(outcome=step.outcome, changed=changed, returns_because=step.roll.returns_because)


def _sizes(
    environment: Environment, candidate: Deployment, current: Deployment, now: datetime
) -> Sizes:
    ready, live = {candidate.id: 0, current.id: 0}, {candidate.id: 0, current.id: 0}
    rows = Replica.objects.filter(deployment_id__in=ready).exclude(state__in=REPLICA_TERMINAL)
    for id, state, desired in rows.values_list("deployment_id", "state", "wanted"):
        live[id] += state != ReplicaState.LOST
        ready[id] += state == ReplicaState.READY and desired == "running"
    version = (environment.promotion or {}).get("share_version")
    serves = candidate.state == DeploymentState.ACTIVE and not is_at_rest(candidate)
    return Sizes(
        candidate_ready=ready[candidate.id] if serves else 0,
        current_ready=ready[current.id],
        current_live=live[current.id],
        current_wanted=current.wanted_replicas,
        is_applied=version is None or gateways_have_applied(version),
        demand=_demand(candidate, current, now),
    )


def _demand(candidate: Deployment, current: Deployment, now: datetime) -> int:
    """Return how many replicas the load of both together asks for; the least where nobody knows."""
    settings = settings_of(current)
    signals = signals_at(now, windows={settings.autoscaling_window})
    if signals.missing or settings.min_replica == settings.max_replica:
        return settings.min_replica
    window = settings.autoscaling_window
    loads = [signals.of(each.id, window_seconds=window).load for each in (candidate, current)]
    both = Load(
        requests=sum(each.requests for each in loads), tokens=sum(each.tokens for each in loads)
    )
    return settings.within(replicas_for(both, settings))


def _given_up(environment: Environment, step: Step, sizes: Sizes, now: datetime) -> Step:
    """Return the step, on its way back where nothing has become ready for too long."""
    gives_up_at = (environment.promotion or {}).get("gives_up_at")
    is_stalled = (
        step.code in _WAITS
        and gives_up_at is not None
        and now >= datetime.fromisoformat(gives_up_at)
    )
    if not is_stalled or step.roll.direction is Direction.DOWN or _is_progress(environment, sizes):
        return step
    minutes = int(PROGRESS_DEADLINE.total_seconds() // 60)
    why = f"{step.sentence} No more became ready for {minutes} minutes."
    return replace(step, roll=returning(step.roll, why))


def _is_progress(environment: Environment, sizes: Sizes) -> bool:
    return sizes.candidate_ready > int((environment.promotion or {}).get("most_ready", -1))


def _tell(environment: Environment, before: Roll, step: Step) -> None:
    has_turned = before.direction is not step.roll.direction
    if step.code not in _EVENTS and not has_turned:
        return
    event_add(
        environment,
        code="gave_up" if has_turned else step.code.value,
        sentence=step.roll.returns_because if has_turned else step.sentence,
        percents=(before.percent, step.roll.percent),
    )


def _store(environment: Environment, before: Roll, step: Step, sizes: Sizes, now: datetime) -> None:
    promotion = dict(environment.promotion or {})
    stored = {
        **promotion,
        "status": step.roll.status.value,
        "percent_traffic_to_new_version": step.roll.percent,
        "roll": step.roll.to_json(),
        "waits_for": step.sentence,
        "step_code": step.code.value,
        "ready_replicas": sizes.candidate_ready,
        "needed_replicas": step.candidate_wanted,
        **_deadline(environment, before, step, sizes, now),
    }
    is_first = "roll" not in promotion
    if is_first or step.roll.percent != before.percent:
        # Gateways learn of it with the routes, and say by which version they work.
        stored["share_version"] = routes_bump(environment)
        stored |= guard_begun(environment, now)
    if stored != promotion:
        environment.promotion = stored
        environment.save(update_fields=["promotion"])


def _deadline(
    environment: Environment, before: Roll, step: Step, sizes: Sizes, now: datetime
) -> dict[str, Any]:
    promotion = environment.promotion or {}
    has_moved = (before.percent, before.moved) != (step.roll.percent, step.roll.moved)
    waits = step.code in _WAITS and step.roll.status is not Status.PAUSED
    if waits and not has_moved and not _is_progress(environment, sizes):
        return {"gives_up_at": promotion.get("gives_up_at") or _later(now)}
    most = sizes.candidate_ready
    return {"gives_up_at": _later(now) if waits else None, "most_ready": most}


def _later(now: datetime) -> str:
    return (now + PROGRESS_DEADLINE).isoformat()


def routes_bump(environment: Environment) -> int:
    places = (environment.current_id, environment.candidate_id)
    named = [each for each in places if each is not None]
    return routes_version_bump(models=[environment.model_id], deployments=named)


def _resize(deployment: Deployment, replicas: int) -> list[str]:
    """Return its id where it now wants another number; none of one that was put to sleep."""
    if is_at_rest(deployment) or deployment.wanted_replicas == replicas:
        return []
    as_read = Deployment.objects.filter(
        id=deployment.id, wanted_replicas=deployment.wanted_replicas
    )
    return [deployment.id] if as_read.update(wanted_replicas=replicas) else []
