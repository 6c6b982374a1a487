"""Requests that are answered later, and the webhooks that tell of their outcomes."""

from django.db import models

from apps.accounts.models import ApiKey, Team
from apps.leases.models import Leased
from apps.rest.identifiers import new_id
from controlplane.domain.async_requests.states import AsyncStatus, WebhookStatus
from controlplane.domain.lifecycle import StepState
from controlplane.stamps import StampField


class AsyncRequest(Leased):
    """One request of `async_predict`. Its model may go before it does, so that is named by id."""

    id = models.CharField(primary_key=True, max_length=64)
    """Chosen by the gateway that took it: a repeat of the same call changes nothing."""
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="async_requests")
    api_key = models.ForeignKey(ApiKey, on_delete=models.SET_NULL, null=True, related_name="+")
    """Whose it is: its limits hold, and the spend is its own."""
    model_id = models.CharField(max_length=16)
    deployment_id = models.CharField(max_length=16)
    environment = models.CharField(max_length=64, blank=True)
    """Through which it was asked; blank where the deployment itself was."""
    priority = models.PositiveSmallIntegerField(default=0)
    max_attempts = models.PositiveSmallIntegerField(default=3)
    initial_delay_ms = models.PositiveIntegerField(default=1000)
    max_delay_ms = models.PositiveIntegerField(default=5000)
    webhook_endpoint = models.CharField(max_length=2000, blank=True)
    model_input = models.TextField()
    """As JSON, in ASCII."""
    status = models.CharField(max_length=16, default=AsyncStatus.QUEUED)
    webhook_status = models.CharField(max_length=24, default=WebhookStatus.NONE)
    attempts = models.PositiveIntegerField(default=0)
    """How often the model was asked, to no end."""
    next_attempt_at = models.DateTimeField(null=True)
    errors = models.JSONField(default=list)
    output = models.TextField(null=True)  # noqa: DJ001
    """As JSON, in ASCII; None where there is none."""
    created_at = StampField(auto_now_add=True)
    status_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    """Until when it may wait for its first attempt."""
    started_at = models.DateTimeField(null=True)
    """When it was begun first."""
    finished_at = models.DateTimeField(null=True)
    cancel_requested_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [
            models.Index(
                fields=["deployment_id", "priority", "created_at"],
                condition=models.Q(status=AsyncStatus.QUEUED),
                name="async_requests_queue",
            ),
            models.Index(fields=["team", "status"], name="async_requests_of_team"),
            models.Index(fields=["deployment_id", "-created_at"], name="async_requests_listed"),
            models.Index(
                fields=["finished_at"],
                condition=models.Q(finished_at__isnull=False),
                name="async_requests_ended",
            ),
        ]

    def __str__(self) -> str:
        return self.id


class AsyncWebhook(Leased):
    """The delivery of one outcome; whatever is tried, it carries the id of its request."""

    id = models.CharField(primary_key=True, max_length=16, default=new_id)
    request = models.OneToOneField(AsyncRequest, on_delete=models.CASCADE, related_name="webhook")
    state = models.CharField(max_length=16, default=StepState.WAITING)
    attempts = models.PositiveIntegerField(default=0)
    next_attempt_at = models.DateTimeField(null=True)
    sentence = models.TextField(blank=True)
    """Why the last attempt failed; blank where it did not."""
    hint = models.TextField(blank=True)
    created_at = StampField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return self.request_id
