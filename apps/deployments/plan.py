"""What a deployment needs next, computed from its rows; `services.reconcile` carries it out."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from apps.deployments.models import Deployment, Replica
from controlplane.domain.lifecycle import REPLICA_TERMINAL, DeploymentState, ReplicaState

START_FAILURES_ALLOWED = 3
_LONGEST_WAIT_SECONDS = 60

RESTING = frozenset(
    {
        DeploymentState.BUILDING,
        DeploymentState.BUILD_FAILED,
        DeploymentState.BUILD_STOPPED,
        DeploymentState.DEPLOY_FAILED,
        DeploymentState.INACTIVE,
        DeploymentState.FAILED,
    }
)
"""States that end by a person's or a build's doing, never by a replica's."""

STARTS_REPLICAS = frozenset(
    {
        DeploymentState.DEPLOYING,
        DeploymentState.LOADING_MODEL,
        DeploymentState.ACTIVE,
        DeploymentState.WAKING_UP,
    }
)
"""States in which replicas that are missing are started, and nothing has failed for good."""

_COMING = frozenset({ReplicaState.STARTING, ReplicaState.LOADING})
_WORKED_BEFORE = frozenset({DeploymentState.ACTIVE, DeploymentState.UNHEALTHY})
_ASLEEP = frozenset({DeploymentState.SCALED_TO_ZERO, DeploymentState.WAKING_UP})


@dataclass(frozen=True, kw_only=True)
class Decision:
    """The moves that bring a deployment nearer to what is wanted of it."""

    order: int
    """How many replicas to place now."""
    stop: tuple[Replica, ...]
    """Replicas that no gateway can know as ready: they end at once."""
    drain: tuple[Replica, ...]
    """Replicas that may be in the routes: they leave those first and end later."""


def decide(
    deployment: Deployment,
    replicas: Sequence[Replica],
    *,
    now: datetime,
    draining: Collection[str] = (),
) -> Decision:
    """Return the next moves; `replicas` are all of the deployment, ended ones included.

    Those on the nodes of `draining` are replaced elsewhere first, and leave as others are ready. So
    do lost ones, which may serve all the while.
    """
    count = wanted_count(deployment)
    serving = [replica for replica in replicas if _counts(replica)]
    newest = [each for each in serving if each.generation == deployment.generation]
    current = [each for each in newest if each.node_id not in draining]
    moving = [each for each in newest if each.node_id in draining]
    may_start = now >= next_start_at(deployment, replicas)
    order = max(count - len(current), 0) if may_start else 0
    leaving = _surplus(current, count) + _outdated(deployment, serving, current, count)
    leaving += _replaced(moving, current, count)
    ready = [each for each in leaving if each.state == ReplicaState.READY]
    return Decision(
        order=order,
        stop=tuple(each for each in leaving if each.state != ReplicaState.READY),
        drain=(*ready, *_given_up(replicas, newest, count)),
    )


def wanted_count(deployment: Deployment) -> int:
    if deployment.state in RESTING or deployment.state == DeploymentState.DEACTIVATING:
        return 0
    return deployment.wanted_replicas


def is_asleep(deployment: Deployment) -> bool:
    """Whether it was told to run no replica, or runs none because nobody asks."""
    return deployment.wanted_replicas == 0 or deployment.state == DeploymentState.SCALED_TO_ZERO


def is_at_rest(deployment: Deployment) -> bool:
    """Whether it has to be activated to run."""
    return is_asleep(deployment) or deployment.state in {
        DeploymentState.DEACTIVATING,
        DeploymentState.INACTIVE,
    }


def next_start_at(deployment: Deployment, replicas: Sequence[Replica]) -> datetime:
    """Return when the next replica may be placed: the wait doubles with every failed start."""
    ended = [each.finished_at for each in replicas if each.finished_at is not None]
    if not deployment.start_failures or not ended:
        return deployment.created_at
    wait = min(2**deployment.start_failures, _LONGEST_WAIT_SECONDS)
    return max(ended) + timedelta(seconds=wait)


def state_after(deployment: Deployment, replicas: Sequence[Replica]) -> DeploymentState:
    state = DeploymentState(deployment.state)
    alive = [each for each in replicas if each.state not in REPLICA_TERMINAL]
    if state in RESTING:
        return state
    if state is DeploymentState.DEACTIVATING:
        return state if alive else DeploymentState.INACTIVE
    if deployment.wanted_replicas == 0:
        return state if alive else DeploymentState.SCALED_TO_ZERO
    states = {ReplicaState(each.state) for each in replicas if _counts(each)}
    if ReplicaState.READY in states:
        return DeploymentState.ACTIVE
    return _state_without_ready(deployment, state, is_coming=bool(states & _COMING))


def ready_count(replicas: Sequence[Replica]) -> int:
    return sum(_counts(each) and each.state == ReplicaState.READY for each in replicas)


def _state_without_ready(
    deployment: Deployment, state: DeploymentState, *, is_coming: bool
) -> DeploymentState:
    if state in _WORKED_BEFORE:
        return DeploymentState.UNHEALTHY
    if deployment.start_failures >= START_FAILURES_ALLOWED:
        return DeploymentState.DEPLOY_FAILED
    if state in _ASLEEP:
        return DeploymentState.WAKING_UP
    return DeploymentState.LOADING_MODEL if is_coming else DeploymentState.DEPLOYING


def _counts(replica: Replica) -> bool:
    gone = REPLICA_TERMINAL | {ReplicaState.DRAINING, ReplicaState.LOST}
    return replica.wanted == "running" and replica.state not in gone


def _given_up(replicas: Sequence[Replica], newest: list[Replica], count: int) -> list[Replica]:
    """Return the lost replicas that others have replaced: those that served are kept longest."""
    lost = [each for each in replicas if _is_lost(each)]
    ready = sum(each.state == ReplicaState.READY for each in newest)
    if ready >= count:
        return lost
    # Which of them still serve is not known: no more may end than others are ready.
    superfluous = min(ready, max(len(lost) + ready - count, 0))
    by_worth = sorted(lost, key=lambda each: (each.ready_at is None, each.ordered_at, each.id))
    return by_worth[len(lost) - superfluous :]


def _is_lost(replica: Replica) -> bool:
    is_kept = replica.wanted == "running" and replica.draining_since is None
    return is_kept and replica.state == ReplicaState.LOST


def _replaced(moving: list[Replica], current: list[Replica], count: int) -> list[Replica]:
    """Return those that may leave a draining node: as many as others are ready in their place."""
    ready = sum(each.state == ReplicaState.READY for each in current)
    return _surplus(moving, max(count - ready, 0))


def _surplus(current: list[Replica], count: int) -> list[Replica]:
    # The longest ready stay: they have served, and the newest have the least to lose.
    by_worth = sorted(
        current, key=lambda each: (each.state != ReplicaState.READY, each.ordered_at, each.id)
    )
    return by_worth[count:]


def _outdated(
    deployment: Deployment, serving: list[Replica], current: list[Replica], count: int
) -> list[Replica]:
    older = [each for each in serving if each.generation != deployment.generation]
    ready = sum(each.state == ReplicaState.READY for each in current)
    if ready >= count:
        return older
    return [each for each in older if each.state != ReplicaState.READY]
