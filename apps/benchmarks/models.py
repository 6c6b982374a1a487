from django.db import models

from apps.accounts.models import ApiKey, Team, User
from apps.deployments.models import Deployment
from apps.leases.models import Leased
from apps.rest.identifiers import new_id
from controlplane.domain.lifecycle import BenchmarkState
from controlplane.stamps import StampField


class Benchmark(Leased):
    """One run: what is asked of one deployment, or of two side by side."""

    id = models.CharField(primary_key=True, max_length=16, default=new_id)
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="benchmarks")
    name = models.CharField(max_length=100, blank=True)
    state = models.CharField(max_length=16, default=BenchmarkState.QUEUED)
    shape = models.CharField(max_length=32)
    order = models.JSONField()
    """Lengths, load, limits and seed, as `BenchmarkOrder` has them, without its targets."""
    samples = models.JSONField(default=list)
    """Requests of its own lines, or recorded lengths."""
    api_key = models.ForeignKey(ApiKey, on_delete=models.SET_NULL, null=True, related_name="+")
    """Made for the run and revoked at its end."""
    progress = models.JSONField(default=dict)
    failure = models.JSONField(null=True)
    created_at = StampField(auto_now_add=True)
    created_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    cancel_requested_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [models.Index(fields=["team", "-created_at"], name="benchmarks_of_team")]

    def __str__(self) -> str:
        return self.name or self.id


class BenchmarkTarget(models.Model):
    """A deployment of a run, with what it was made of then and what was measured."""

    id = models.BigAutoField(primary_key=True)
    benchmark = models.ForeignKey(Benchmark, on_delete=models.CASCADE, related_name="targets")
    position = models.PositiveSmallIntegerField()
    deployment = models.ForeignKey(Deployment, on_delete=models.SET_NULL, null=True)
    label = models.CharField(max_length=400)
    """Model and deployment, which may be gone since."""
    made_of = models.JSONField(default=dict)
    stages = models.JSONField(default=list)
    """The figures of each level; the last may be partial."""

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["benchmark", "position"], name="benchmarks_target_position_unique"
            )
        ]

    def __str__(self) -> str:
        return self.label
