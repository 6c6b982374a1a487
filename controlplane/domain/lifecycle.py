"""States of builds, steps, deployments and replicas, and the moves allowed between them.

A state changes by compare-and-set only: `UPDATE … WHERE state = old`. The tables below say which
moves exist; `may_move` answers for one of them.
"""

from collections.abc import Mapping
from enum import StrEnum


class BuildState(StrEnum):
    QUEUED = "queued"
    FETCHING = "fetching"
    INSPECTING = "inspecting"
    CALIBRATING = "calibrating"
    GATING = "gating"
    PACKAGING = "packaging"
    TESTING = "testing"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


class StepState(StrEnum):
    WAITING = "waiting"
    RUNNING = "running"
    FINISHED = "finished"
    REUSED = "reused"
    FAILED = "failed"
    CANCELLED = "cancelled"


class PushState(StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


class BenchmarkState(StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


class AnswerCheckState(StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    FINISHED = "finished"
    CANCELLED = "cancelled"


class DeploymentState(StrEnum):
    """Lower-case form of the hosted product's statuses (reference: management API, 2026-08-22)."""

    BUILDING = "building"
    BUILD_FAILED = "build_failed"
    BUILD_STOPPED = "build_stopped"
    DEPLOYING = "deploying"
    DEPLOY_FAILED = "deploy_failed"
    LOADING_MODEL = "loading_model"
    ACTIVE = "active"
    UNHEALTHY = "unhealthy"
    UPDATING = "updating"
    SCALED_TO_ZERO = "scaled_to_zero"
    WAKING_UP = "waking_up"
    DEACTIVATING = "deactivating"
    INACTIVE = "inactive"
    FAILED = "failed"


class ReplicaState(StrEnum):
    ORDERED = "ordered"
    STARTING = "starting"
    LOADING = "loading"
    READY = "ready"
    DRAINING = "draining"
    STOPPED = "stopped"
    FAILED = "failed"
    LOST = "lost"


STEP_OF_STATE: Mapping[BuildState, str] = {
    BuildState.FETCHING: "fetch",
    BuildState.INSPECTING: "inspect",
    BuildState.CALIBRATING: "calibrate",
    BuildState.GATING: "gate",
    BuildState.PACKAGING: "package",
    BuildState.TESTING: "smoke_test",
}
"""The module of `workers.build_steps` that does the work of each running build state, in order."""

_QUANTIZING_STEPS = frozenset({"calibrate", "gate"})

BUILD_TERMINAL = frozenset({BuildState.SUCCEEDED, BuildState.FAILED, BuildState.CANCELLED})
PUSH_TERMINAL = frozenset({PushState.SUCCEEDED, PushState.FAILED, PushState.CANCELLED})
BENCHMARK_TERMINAL = frozenset(
    {BenchmarkState.SUCCEEDED, BenchmarkState.FAILED, BenchmarkState.CANCELLED}
)
ANSWER_CHECK_TERMINAL = frozenset({AnswerCheckState.FINISHED, AnswerCheckState.CANCELLED})
STEP_TERMINAL = frozenset(StepState) - {StepState.WAITING, StepState.RUNNING}
REPLICA_TERMINAL = frozenset({ReplicaState.STOPPED, ReplicaState.FAILED})
DEPLOYMENT_TERMINAL = frozenset(
    {
        DeploymentState.BUILD_FAILED,
        DeploymentState.BUILD_STOPPED,
        DeploymentState.DEPLOY_FAILED,
        DeploymentState.INACTIVE,
        DeploymentState.FAILED,
    }
)

_ENDS = frozenset({BuildState.FAILED, BuildState.CANCELLED})
# A build whose worker is gone goes back to the queue, within the same attempt.
_LEAVES = _ENDS | {BuildState.QUEUED}

BUILD_MOVES: Mapping[BuildState, frozenset[BuildState]] = {
    BuildState.QUEUED: _ENDS | {BuildState.FETCHING},
    BuildState.FETCHING: _LEAVES | {BuildState.INSPECTING},
    BuildState.INSPECTING: _LEAVES | {BuildState.CALIBRATING, BuildState.PACKAGING},
    BuildState.CALIBRATING: _LEAVES | {BuildState.GATING},
    BuildState.GATING: _LEAVES | {BuildState.PACKAGING},
    BuildState.PACKAGING: _LEAVES | {BuildState.TESTING},
    BuildState.TESTING: _LEAVES | {BuildState.SUCCEEDED},
    BuildState.SUCCEEDED: frozenset(),
    BuildState.FAILED: frozenset({BuildState.QUEUED}),
    BuildState.CANCELLED: frozenset({BuildState.QUEUED}),
}
"""A failed or cancelled build goes back to the queue on retry, as its next attempt."""

REPLICA_MOVES: Mapping[ReplicaState, frozenset[ReplicaState]] = {
    ReplicaState.ORDERED: frozenset(ReplicaState) - {ReplicaState.ORDERED},
    ReplicaState.STARTING: frozenset(ReplicaState) - {ReplicaState.ORDERED, ReplicaState.STARTING},
    ReplicaState.LOADING: frozenset(ReplicaState) - {ReplicaState.ORDERED, ReplicaState.LOADING},
    ReplicaState.READY: frozenset(
        {ReplicaState.DRAINING, ReplicaState.STOPPED, ReplicaState.FAILED, ReplicaState.LOST}
    ),
    ReplicaState.DRAINING: frozenset(
        {ReplicaState.STOPPED, ReplicaState.FAILED, ReplicaState.LOST}
    ),
    ReplicaState.LOST: frozenset(ReplicaState) - {ReplicaState.ORDERED, ReplicaState.LOST},
    ReplicaState.STOPPED: frozenset(),
    ReplicaState.FAILED: frozenset(),
}
"""A lost replica (its node fell silent) is whatever its node says when it speaks again."""


def steps_of_build(*, quantizes: bool) -> tuple[str, ...]:
    """Return the steps of a build, in order; without quantization nothing is calibrated."""
    return tuple(
        step for step in STEP_OF_STATE.values() if quantizes or step not in _QUANTIZING_STEPS
    )


def may_move_build(old: BuildState, new: BuildState) -> bool:
    return new in BUILD_MOVES[old]


def may_move_replica(old: ReplicaState, new: ReplicaState) -> bool:
    return new in REPLICA_MOVES[old]
