"""Named configs, their immutable revisions, and the checkpoint facts that checks rest on."""

from django.contrib.postgres.indexes import GinIndex
from django.db import models

from apps.accounts.models import Team, User
from apps.configs.calibration_sets.models import (
    CalibrationPreview,
    CalibrationSet,
    CalibrationVersion,
)
from apps.configs.lookahead_tunings.models import LookaheadTuning
from apps.configs.remote_code.models import RemoteCodeGrant
from apps.configs.traffic_samples.models import HeldSamples, TrafficConsent
from apps.leases.models import Leased
from apps.rest.identifiers import new_id
from controlplane.stamps import StampField

__all__ = [
    "CalibrationPreview",
    "CalibrationSet",
    "CalibrationVersion",
    "CheckpointRecord",
    "Config",
    "FactsState",
    "HeldSamples",
    "LookaheadTuning",
    "RemoteCodeGrant",
    "Revision",
    "TrafficConsent",
]


class Config(models.Model):
    """A named `config.yaml`; what it says stands in its revisions."""

    id = models.CharField(primary_key=True, max_length=16, default=new_id)
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="configs")
    name = models.CharField(max_length=128)
    created_at = StampField(auto_now_add=True)
    updated_at = StampField(auto_now=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["team", "name"], name="configs_name_unique_in_team")
        ]

    def __str__(self) -> str:
        return self.name


class Revision(models.Model):
    """One state of a config: its text never changes.

    What the checks said of the last one is said anew when its checkpoint was read.
    """

    id = models.CharField(primary_key=True, max_length=16, default=new_id)
    config = models.ForeignKey(Config, on_delete=models.CASCADE, related_name="revisions")
    number = models.PositiveIntegerField()
    text = models.TextField()
    """The user's own YAML, comments and order kept."""
    spec = models.JSONField()
    spec_format = models.PositiveSmallIntegerField(default=1)
    secret_names = models.JSONField(default=list)
    """Normal names of the secrets that the spec lists, to tell who uses one."""
    findings = models.JSONField(default=list)
    waiting = models.JSONField(default=list)
    effective = models.JSONField(default=list)
    plan = models.JSONField(null=True)
    blocks_build = models.BooleanField()
    created_at = StampField(auto_now_add=True)
    created_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["config", "number"], name="configs_revision_number_unique"
            )
        ]
        indexes = [GinIndex(fields=["secret_names"], name="configs_revision_by_secret")]

    def __str__(self) -> str:
        return f"{self.config_id}@{self.number}"


class FactsState(models.TextChoices):
    WAITING = "waiting"
    READY = "ready"
    FAILED = "failed"


class CheckpointRecord(Leased):
    """What a checkpoint's own files say, read by a background task, cached by commit."""

    id = models.CharField(primary_key=True, max_length=16, default=new_id)
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="+")
    source = models.CharField(max_length=32)
    repo = models.CharField(max_length=2000)
    revision = models.CharField(max_length=128, blank=True)
    secret_name = models.CharField(max_length=253, blank=True)
    """Part of the identity: what one token may read another may not."""
    state = models.CharField(max_length=16, default=FactsState.WAITING)
    commit = models.CharField(max_length=128, blank=True)
    facts = models.JSONField(null=True)
    failure = models.JSONField(null=True)
    requested_at = models.DateTimeField()
    fetched_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["team", "source", "repo", "revision", "secret_name"],
                name="configs_checkpoint_once",
            )
        ]

    def __str__(self) -> str:
        return f"{self.source} {self.repo}"


class PlanMeasurement(models.Model):
    """One figure of a revision's plan beside what a benchmark measured of one replica."""

    id = models.BigAutoField(primary_key=True)
    revision = models.ForeignKey(
        Revision, on_delete=models.CASCADE, related_name="plan_measurements"
    )
    benchmark_id = models.CharField(max_length=16)
    """A plain id: benchmarks are above configs."""
    figure = models.CharField(max_length=32)
    """`tokens_per_second` or `kv_tokens`."""
    concurrency = models.PositiveIntegerField(null=True)
    device_kind = models.CharField(max_length=64, blank=True)
    planned_low = models.FloatField()
    planned_high = models.FloatField()
    measured = models.FloatField()
    difference_ratio = models.FloatField()
    """How far beyond the nearer end of the plan; 0 within it."""
    measured_at = StampField(auto_now_add=True)

    def __str__(self) -> str:
        return f"{self.figure} of {self.revision_id}"
