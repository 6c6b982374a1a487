"""Consents to sample a team's traffic, and what gateways say lies under them."""

from django.db import models

from apps.accounts.models import Team, User
from apps.rest.identifiers import new_id
from controlplane.stamps import StampField


class TrafficConsent(models.Model):
    """That gateways may keep outlines of a share of the team's answers; no row is no consent.

    Gateways keep them under its id, and delete what is under an id that is gone.
    """

    id = models.CharField(primary_key=True, max_length=16, default=new_id)
    team = models.OneToOneField(Team, on_delete=models.CASCADE, related_name="traffic_consent")
    share = models.FloatField()
    kept_days = models.PositiveIntegerField()
    created_at = StampField(auto_now_add=True)
    created_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")

    def __str__(self) -> str:
        return f"consent of {self.team_id}"


class HeldSamples(models.Model):
    """How many outlines of a model one gateway holds, as it said last."""

    id = models.BigAutoField(primary_key=True)
    consent = models.ForeignKey(TrafficConsent, on_delete=models.CASCADE, related_name="held")
    gateway_id = models.CharField(max_length=16)
    model_id = models.CharField(max_length=16)
    """A plain id: models are above configs."""
    samples = models.PositiveIntegerField()
    size_bytes = models.BigIntegerField()
    oldest_at = models.DateTimeField()
    told_at = StampField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["consent", "gateway_id", "model_id"], name="configs_held_once"
            )
        ]

    def __str__(self) -> str:
        return f"samples of {self.model_id} on {self.gateway_id}"
