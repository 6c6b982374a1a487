"""Tables of the answer guard: what is asked of both deployments, and what they said."""

from django.db import models

from apps.accounts.models import ApiKey
from apps.leases.models import Leased
from apps.rest.identifiers import new_id
from controlplane.domain.lifecycle import AnswerCheckState
from controlplane.stamps import StampField


class AnswerCheck(Leased):
    """One set of prompts that both deployments of a promotion are asked."""

    id = models.CharField(primary_key=True, max_length=16, default=new_id)
    environment = models.ForeignKey(
        "deployments.Environment", on_delete=models.CASCADE, related_name="answer_checks"
    )
    candidate_id = models.CharField(max_length=16)
    current_id = models.CharField(max_length=16)
    settings = models.JSONField()
    """As the environment had them when the promotion began, without the prompts."""
    prompts = models.JSONField()
    state = models.CharField(max_length=16, default=AnswerCheckState.QUEUED)
    outcome = models.CharField(max_length=16, blank=True, default="", db_default="")
    sentence = models.TextField(blank=True, default="", db_default="")
    api_key = models.ForeignKey(ApiKey, on_delete=models.SET_NULL, null=True, related_name="+")
    """Made for the check and revoked at its end."""
    created_at = StampField(auto_now_add=True)
    asked_at = models.DateTimeField(null=True)
    """Since when it may be asked: both have a replica that answers."""
    finished_at = models.DateTimeField(null=True)
    cancel_requested_at = models.DateTimeField(null=True)

    class Meta:
        app_label = "deployments"
        indexes = [
            models.Index(fields=["environment", "-created_at"], name="deployments_answer_checks")
        ]

    def __str__(self) -> str:
        return self.id


class AnswerPair(models.Model):
    """The answers of both to one prompt; texts as long as they are kept."""

    id = models.BigAutoField(primary_key=True)
    check_of = models.ForeignKey(AnswerCheck, on_delete=models.CASCADE, related_name="pairs")
    number = models.PositiveSmallIntegerField()
    is_equal = models.BooleanField()
    differs_at = models.PositiveIntegerField(null=True)
    candidate = models.JSONField()
    current = models.JSONField()
    """Each with `text`, `characters`, `failure` and `is_valid`."""

    class Meta:
        app_label = "deployments"
        constraints = [
            models.UniqueConstraint(fields=["check_of", "number"], name="deployments_pair_once")
        ]

    def __str__(self) -> str:
        return f"{self.check_of_id}: {self.number}"
