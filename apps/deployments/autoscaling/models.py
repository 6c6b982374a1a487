"""Tables of autoscaling: what gateways said, what decisions remember, and what was decided."""

from django.db import models

from apps.fleet.models import Gateway


class GatewayLoad(models.Model):
    """What one gateway had in flight since its report before."""

    id = models.BigAutoField(primary_key=True)
    gateway = models.ForeignKey(Gateway, on_delete=models.CASCADE, related_name="loads")
    sequence = models.BigIntegerField()
    at = models.DateTimeField(db_index=True)
    seconds = models.FloatField()
    """Over which the means are."""
    loads = models.JSONField()
    """By deployment: mean requests and tokens in flight, and requests held without a replica."""
    ejected = models.JSONField(default=dict, db_default={})
    """By replica that it passed over at that moment: why."""

    class Meta:
        app_label = "deployments"
        constraints = [
            models.UniqueConstraint(
                fields=["gateway", "sequence"], name="deployments_gateway_load_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.gateway_id} at {self.at:%H:%M:%S}"


class ScalingState(models.Model):
    """What the last decision left for the next one."""

    deployment = models.OneToOneField(
        "deployments.Deployment", primary_key=True, on_delete=models.CASCADE, related_name="scaling"
    )
    low_since = models.DateTimeField(null=True)
    raised_at = models.DateTimeField(null=True)
    code = models.CharField(max_length=32, blank=True, default="")

    class Meta:
        app_label = "deployments"

    def __str__(self) -> str:
        return f"{self.pk}: {self.code}"


class ScalingDecision(models.Model):
    """A size that was changed, or kept for a reason that a person wants to know."""

    id = models.BigAutoField(primary_key=True)
    deployment = models.ForeignKey(
        "deployments.Deployment", on_delete=models.CASCADE, related_name="scaling_decisions"
    )
    at = models.DateTimeField()
    code = models.CharField(max_length=32)
    sentence = models.TextField()
    before = models.PositiveIntegerField()
    after = models.PositiveIntegerField()
    by_load = models.PositiveIntegerField()
    """What the formula alone said."""
    requests = models.FloatField()
    """In flight, on average over the window."""
    tokens = models.FloatField()

    class Meta:
        app_label = "deployments"
        indexes = [models.Index(fields=["deployment", "-at"], name="deployments_scaling_history")]

    def __str__(self) -> str:
        return f"{self.deployment_id}: {self.before} to {self.after}"
