"""What is served: models, their deployments and environments, and the replicas that run."""

from datetime import datetime

from django.db import models

from apps.accounts.models import Team, User
from apps.builds.models import Artifact, Build
from apps.deployments.autoscaling.models import GatewayLoad, ScalingDecision, ScalingState
from apps.deployments.environments.rolling.answers.models import AnswerCheck, AnswerPair
from apps.deployments.environments.rolling.models import PromotionEvent, PromotionSample
from apps.deployments.history.models import EnvironmentSwitch
from apps.fleet.models import Node
from apps.rest.identifiers import new_id, new_replica_id
from controlplane import clock
from controlplane.domain.lifecycle import REPLICA_TERMINAL, DeploymentState, ReplicaState
from controlplane.stamps import StampField

__all__ = [
    "PRODUCTION", "AnswerCheck", "AnswerPair", "Deployment", "Environment", "EnvironmentSwitch",
    "FailedStarts", "GatewayLoad", "PromotionEvent", "PromotionSample", "Replica",
    "ScalingDecision", "ScalingState", "ServedModel", "SweepRecord",
]  # fmt: skip
PRODUCTION = "production"
"""The environment that every model has, and that `/production/` asks."""


class ServedModel(models.Model):
    """What a team serves under one name."""

    id = models.CharField(primary_key=True, max_length=16, default=new_id)
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="served_models")
    name = models.CharField(max_length=128)
    created_at = StampField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["team", "name"], name="deployments_model_name_unique")
        ]

    def __str__(self) -> str:
        return self.name


class Deployment(models.Model):
    """One artifact of a model with its serving settings; `generation` grows when they change."""

    id = models.CharField(primary_key=True, max_length=16, default=new_id)
    model = models.ForeignKey(ServedModel, on_delete=models.CASCADE, related_name="deployments")
    name = models.CharField(max_length=255)
    build = models.ForeignKey(
        Build, on_delete=models.PROTECT, null=True, related_name="deployments"
    )
    artifact = models.ForeignKey(
        Artifact, on_delete=models.PROTECT, null=True, related_name="deployments"
    )
    """Absent while the build runs."""
    runtime = models.CharField(max_length=16)
    spec = models.JSONField()
    checkpoint = models.JSONField(null=True)
    """The facts that the build read, for rendering the engine's command."""
    state = models.CharField(max_length=16, default=DeploymentState.BUILDING)
    failure = models.JSONField(null=True)
    generation = models.PositiveIntegerField(default=1)
    wanted_replicas = models.PositiveIntegerField(default=1)
    min_replica = models.PositiveIntegerField(default=0)
    max_replica = models.PositiveIntegerField(default=1)
    autoscaling = models.JSONField(default=dict)
    backpressure_policy = models.CharField(max_length=16, blank=True, default="", db_default="")
    """What becomes of requests beyond what replicas carry; empty where replicas are sent all."""
    start_failures = models.PositiveIntegerField(default=0)
    """Replicas in a row that failed before they were ready; sets the wait before the next."""
    last_failure = models.JSONField(null=True)
    """Of the replica that failed or fell silent last, until as many as are wanted are ready."""
    degraded_since = models.DateTimeField(null=True)
    """It is active with fewer replicas than wanted, for the reason in `failure`."""
    created_at = StampField(auto_now_add=True)
    created_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")
    active_since = models.DateTimeField(null=True)
    marked_at = models.DateTimeField(null=True)
    """Since when it waits to be reconciled; a trigger writes it with the change itself."""
    reconcile_at = models.DateTimeField(null=True)
    """When time alone calls for it again, as a wait that ends does."""
    room_seen = models.CharField(max_length=32, null=True)  # noqa: DJ001
    """It waits for room: what the fleet offered (`room_stamp`) before it was tried last."""

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["model", "name"], name="deployments_name_unique")
        ]
        indexes = [
            models.Index(
                fields=["marked_at"],
                condition=models.Q(marked_at__isnull=False),
                name="deployments_marked",
            ),
            models.Index(
                fields=["reconcile_at"],
                condition=models.Q(reconcile_at__isnull=False),
                name="deployments_due_later",
            ),
            models.Index(
                fields=["id"],
                condition=models.Q(room_seen__isnull=False),
                name="deployments_without_room",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_confirmed(self) -> bool:
        """Whether a node has said lately that what runs of it does, by the counts of a list.

        None has after the database was restored or away. Of what does not run nobody speaks.
        """
        running = getattr(self, "running_replica_count", 0)
        return not running or bool(getattr(self, "heard_replica_count", 0))


class Environment(models.Model):
    """A named place that points at one deployment and may be rolling to a candidate."""

    id = models.BigAutoField(primary_key=True)
    model = models.ForeignKey(ServedModel, on_delete=models.CASCADE, related_name="environments")
    name = models.CharField(max_length=64)
    current = models.ForeignKey(
        Deployment, on_delete=models.SET_NULL, null=True, related_name="current_of"
    )
    candidate = models.ForeignKey(
        Deployment, on_delete=models.SET_NULL, null=True, related_name="candidate_of"
    )
    retiring = models.ForeignKey(
        Deployment, on_delete=models.SET_NULL, null=True, related_name="retiring_from"
    )
    """The old deployment, kept until every live gateway has applied `promotion_version`."""
    promotion = models.JSONField(null=True)
    """Status and error of the promotion under way, in the hosted product's shape."""
    promotion_version = models.BigIntegerField(null=True)
    autoscaling_settings = models.JSONField(default=dict)
    autoscaling_schedules = models.JSONField(default=dict, db_default={})
    """`timezone` and `schedules`, in the hosted product's shape; empty without any."""
    backpressure_policy = models.CharField(max_length=16, blank=True, default="", db_default="")
    """What is promoted to it gets that; empty where that keeps its own."""
    promotion_settings = models.JSONField(default=dict)
    created_at = StampField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["model", "name"], name="deployments_environment_unique")
        ]

    def __str__(self) -> str:
        return self.name


class Replica(models.Model):
    """One engine process: what is wanted of it, and what its node last said of it."""

    id = models.CharField(primary_key=True, max_length=16, default=new_replica_id)
    deployment = models.ForeignKey(Deployment, on_delete=models.CASCADE, related_name="replicas")
    node = models.ForeignKey(Node, on_delete=models.PROTECT, related_name="replicas")
    generation = models.PositiveIntegerField()
    wanted = models.CharField(max_length=16, default="running")
    """`running` or `stopped`."""
    state = models.CharField(max_length=16, default=ReplicaState.ORDERED)
    memory_bytes = models.BigIntegerField()
    placement = models.TextField(blank=True, default="", db_default="")
    """Why it was placed on that node, in a sentence."""
    host = models.CharField(max_length=253, blank=True)
    port = models.PositiveIntegerField(null=True)
    probe_port = models.PositiveIntegerField(null=True)
    """Where its runner says whose it is, for gateways to ask while the node is silent."""
    pid = models.PositiveIntegerField(null=True)
    failure = models.JSONField(null=True)
    report = models.JSONField(null=True)
    """What the engine says of itself after it started, to compare with the plan."""
    metrics = models.JSONField(null=True)
    ordered_at = StampField(auto_now_add=True)
    ready_at = models.DateTimeField(null=True)
    draining_since = models.DateTimeField(null=True)
    drain_version = models.BigIntegerField(null=True)
    """The routes version without this replica; it may stop once every live gateway has it."""
    finished_at = models.DateTimeField(null=True)
    observed_at = models.DateTimeField(null=True)
    """When its node last said something else of it than before."""

    class Meta:
        indexes = [models.Index(fields=["deployment", "state"], name="deployments_replica_states")]

    def __str__(self) -> str:
        return self.id

    @property
    def was_ready(self) -> bool:
        return self.ready_at is not None

    @property
    def is_draining(self) -> bool:
        return self.draining_since is not None

    @property
    def heard_at(self) -> datetime | None:
        moments = [self.observed_at]
        if self.state not in REPLICA_TERMINAL and self.observed_at is not None:
            moments.append(self.node.replicas_heard_at)
        return max((each for each in moments if each is not None), default=None)

    @property
    def device_holder(self) -> str:
        return f"replica:{self.id}"

    @property
    def log_owner(self) -> str:
        return f"replica:{self.id}"


class FailedStarts(models.Model):
    """How often in a row an artifact failed on a node before it was ready there."""

    id = models.BigAutoField(primary_key=True)
    node = models.ForeignKey(Node, on_delete=models.CASCADE, related_name="failed_starts")
    artifact = models.ForeignKey(Artifact, on_delete=models.CASCADE, related_name="failed_starts")
    count = models.PositiveIntegerField(default=0)
    first_at = models.DateTimeField()
    last_at = models.DateTimeField()
    retry_at = models.DateTimeField()
    """Until then the node is passed over for the artifact."""
    failure = models.JSONField(null=True)
    """Why the last one failed."""

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["artifact", "node"], name="deployments_failed_starts_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.count} of {self.artifact_id} on {self.node_id}"

    @property
    def waits(self) -> bool:
        return self.retry_at > clock.now()


class SweepRecord(models.Model):
    """How far the check of everything is, and what it found that no mark had told: one row."""

    id = models.PositiveSmallIntegerField(primary_key=True)
    checked_to = models.CharField(max_length=16, blank=True, default="")
    """The last deployment that was looked at, by id; empty to begin again."""
    missed = models.BigIntegerField(default=0)
    """How many deployments needed a move that nothing had called for: each is a fault of ours."""
    missed_at = models.DateTimeField(null=True)
    missed_deployment = models.CharField(max_length=16, blank=True, default="")

    def __str__(self) -> str:
        return f"checked up to {self.checked_to or 'nothing'}"
