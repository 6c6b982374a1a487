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
