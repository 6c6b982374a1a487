from collections.abc import Mapping
from typing import Any

from django.db import models

from apps.accounts.models import Team, User
from apps.configs.models import Revision
from apps.leases.models import Leased
from apps.rest.identifiers import new_id
from controlplane.domain.lifecycle import BuildState, PushState, StepState
from controlplane.domain.runtimes.choice import dump_with_runtime
from controlplane.stamps import StampField


class Artifact(models.Model):
    """A published checkpoint directory; the artifact store has its files by `content_digest`."""

    id = models.CharField(primary_key=True, max_length=16, default=new_id)
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="artifacts")
    content_digest = models.CharField(max_length=80, db_index=True)
    input_digest = models.CharField(max_length=80)
    size_bytes = models.BigIntegerField()
    files = models.JSONField()
    passport = models.JSONField()
    inputs = models.JSONField(null=True)
    """What `input_digest` was taken of, to say later why other inputs do not match."""
    created_at = StampField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["team", "input_digest"], name="builds_first_publish_wins"
            )
        ]

    def __str__(self) -> str:
        return self.content_digest


class Build(Leased):
    """The job that turns a revision into an artifact."""

    id = models.CharField(primary_key=True, max_length=16, default=new_id)
    number = models.PositiveIntegerField()
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="builds")
    revision = models.ForeignKey(Revision, on_delete=models.PROTECT, related_name="builds")
    pool = models.CharField(max_length=64, default="default")
    runtime = models.CharField(max_length=32, blank=True, default="", db_default="")
    """What serves it, chosen when it was made where the config says `auto`."""
    # Without choices in the column, or every new state makes a migration.
    state = models.CharField(max_length=16, default=BuildState.QUEUED)
    attempt = models.PositiveIntegerField(default=1)
    artifact = models.ForeignKey(
        Artifact, on_delete=models.PROTECT, null=True, related_name="builds"
    )
    failure = models.JSONField(null=True)
    forecast = models.JSONField(null=True)
    """What it was expected to take when it was made; None where its checkpoint was unknown."""
    reuse = models.JSONField(null=True)
    """What the worker found of the same inputs, or how the nearest earlier artifact differs."""
    promotion = models.JSONField(null=True)
    """Who accepted what the gate found, when and why: `accepted`, `by`, `at`, `reason`."""
    after = models.ForeignKey(
        "self", on_delete=models.SET_NULL, null=True, related_name="followers"
    )
    """The failed build whose fix this one was made with."""
    fixed = models.JSONField(null=True)
    """What that one failed with, and what was changed: `code`, `sentence`, `patch`,
    `base_revision`."""
    created_at = StampField(auto_now_add=True)
    created_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    cancel_requested_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["team", "number"], name="builds_number_unique_in_team")
        ]
        indexes = [models.Index(fields=["state"], name="builds_by_state")]

    def __str__(self) -> str:
        return f"build {self.number}"

    @property
    def spec(self) -> Mapping[str, Any]:
        """The revision's spec with the runtime that was chosen for this build."""
        return dump_with_runtime(self.revision.spec, self.runtime)


class BuildStep(models.Model):
    """One step of the current attempt; `result` is what its child reported."""

    id = models.BigAutoField(primary_key=True)
    build = models.ForeignKey(Build, on_delete=models.CASCADE, related_name="steps")
    name = models.CharField(max_length=16)
    position = models.PositiveSmallIntegerField()
    state = models.CharField(max_length=16, default=StepState.WAITING)
    progress_done = models.BigIntegerField(default=0)
    progress_total = models.BigIntegerField(null=True)
    progress_unit = models.CharField(max_length=16, blank=True)
    progress_seconds_left = models.FloatField(null=True)
    waits_for = models.TextField(blank=True, default="", db_default="")
    """Why its work has not begun, while it waits for GPUs or memory."""
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    result = models.JSONField(null=True)
    measured = models.JSONField(null=True)
    """What its run took by its supervisor's count: seconds, memory, disk, and on which host."""

    class Meta:
        ordering = ["position"]
        constraints = [models.UniqueConstraint(fields=["build", "name"], name="builds_step_once")]

    def __str__(self) -> str:
        return f"{self.name} of {self.build_id}"


class ArtifactPush(Leased):
    """The job that copies an artifact to a repository of the hub or to a bucket."""

    id = models.CharField(primary_key=True, max_length=16, default=new_id)
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="+")
    artifact = models.ForeignKey(Artifact, on_delete=models.CASCADE, related_name="pushes")
    destination = models.CharField(max_length=1000)
    secret_name = models.CharField(max_length=253)
    private = models.BooleanField(default=True)
    """Whether a repository that is made for it is private."""
    pool = models.CharField(max_length=64, default="default")
    # Without choices in the column, or every new state makes a migration.
    state = models.CharField(max_length=16, default=PushState.QUEUED)
    attempt = models.PositiveIntegerField(default=1)
    done_bytes = models.BigIntegerField(default=0)
    result = models.JSONField(null=True)
    """Where it is: `url`, `commit` of a repository, `sent_files`, `skipped_files`."""
    failure = models.JSONField(null=True)
    created_at = StampField(auto_now_add=True)
    created_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    cancel_requested_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [models.Index(fields=["state"], name="builds_push_by_state")]

    def __str__(self) -> str:
        return f"push of {self.artifact_id} to {self.destination}"


class StoreCheck(models.Model):
    """Whether the artifact store could be used when the control worker last looked: one row."""

    ROW = 1
    id = models.PositiveSmallIntegerField(primary_key=True, default=ROW)
    failure = models.JSONField(null=True)
    """Why not; None when all is well."""
    since = models.DateTimeField()
    """Since when it has been so."""
    checked_at = models.DateTimeField()

    def __str__(self) -> str:
        return "the check of the artifact store"
