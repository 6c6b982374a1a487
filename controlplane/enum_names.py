"""What generated clients call the closed sets of the specification."""

from collections.abc import Mapping, Sequence

from controlplane.domain.alert_kinds import AlertKindName
from controlplane.domain.async_requests.states import AsyncStatus
from controlplane.domain.benchmarks.order import LoadKind
from controlplane.domain.facts.engines import Engine
from controlplane.domain.lifecycle import (
    BenchmarkState,
    BuildState,
    DeploymentState,
    ReplicaState,
    StepState,
)
from controlplane.domain.runtimes.capability import Feature, Support
from controlplane.domain.spec.choices import CheckpointSource

ENUM_NAMES: Mapping[str, str | Sequence[str]] = {
    "AsyncRequestStatus": [each.value for each in AsyncStatus],
    "BuildState": [each.value for each in BuildState],
    "BenchmarkState": [each.value for each in BenchmarkState],
    "StepState": [each.value for each in StepState],
    "Presence": ["live", "silent"],
    "ConditionType": ["DEGRADED"],
    "TypeEnum": "apps.accounts.models.ApiKeyType",
    "AlertKind": [each.value for each in AlertKindName],
    "AlertSeverity": ["critical", "warning"],
    "AutoscalingChange": ["ACCEPTED", "QUEUED", "UNCHANGED"],
    "BenchmarkLoadKind": [each.value for each in LoadKind],
    "BuilderVerdict": ["fits", "too_few_devices"],
    "CancelledStatus": ["CANCELED", "RAMPING_DOWN"],
    "CheckpointSource": [each.value for each in CheckpointSource],
    "DeploymentStatus": [each.value.upper() for each in DeploymentState],
    "EngineName": [each.value for each in Engine],
    "Feature": [each.value for each in Feature],
    "Support": [each.value for each in Support],
    "PlanVerdict": ["fits", "tight", "does_not_fit"],
    "PromotionStatus": ["RELEASING", "FAILED", "CANCELED"],
    "ReplicaState": [each.value for each in ReplicaState],
    "ReuseState": ["same", "lost", "differs", "incomparable", "first"],
    "SeverityEnum": ["error", "warning", "hint"],
    "SecretUse": ["config", "build", "push", "deployment", "alert_channel"],
    "TestState": ["waiting", "running", "finished", "failed"],
}
"""All are called `state`, `status` or `type`; a client should call them by what they are."""
