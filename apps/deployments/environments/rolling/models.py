"""Tables of rolling changes: what happened on the way."""

from django.db import models


class PromotionEvent(models.Model):
    """One thing that happened while an environment moved to another deployment."""

    id = models.BigAutoField(primary_key=True)
    environment = models.ForeignKey(
        "deployments.Environment", on_delete=models.CASCADE, related_name="promotion_events"
    )
    candidate_id = models.CharField(max_length=16)
    current_id = models.CharField(max_length=16, blank=True, default="")
    at = models.DateTimeField()
    code = models.CharField(max_length=32)
    sentence = models.TextField()
    actor = models.CharField(max_length=254)
    """Who asked for it, or that the product did it by itself."""
    percent_before = models.PositiveSmallIntegerField()
    percent_after = models.PositiveSmallIntegerField()

    class Meta:
        app_label = "deployments"
        indexes = [
            models.Index(fields=["environment", "-at"], name="deployments_promotion_history")
        ]

    def __str__(self) -> str:
        return f"{self.environment_id}: {self.code}"


class PromotionSample(models.Model):
    """One request of a deployment of a guarded roll."""

    id = models.BigAutoField(primary_key=True)
    deployment_id = models.CharField(max_length=16)
    request_id = models.CharField(max_length=64)
    at = models.DateTimeField()
    is_failed = models.BooleanField()
    first_token_seconds = models.FloatField(null=True)
    inter_token_seconds = models.FloatField(null=True)

    class Meta:
        app_label = "deployments"
        constraints = [
            models.UniqueConstraint(
                fields=["deployment_id", "request_id"], name="deployments_sample_once"
            )
        ]
        indexes = [
            models.Index(fields=["deployment_id", "at"], name="deployments_samples"),
            models.Index(fields=["at"], name="deployments_samples_by_age"),
        ]

    def __str__(self) -> str:
        return self.request_id
