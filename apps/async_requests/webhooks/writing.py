"""Webhooks, written in the transaction of the outcome that they tell of: each once, or neither."""

from django.db.models import Case, CharField, QuerySet, Value, When

from apps.async_requests.models import AsyncRequest, AsyncWebhook
from apps.async_requests.webhooks.leasing import ASYNC_WEBHOOK
from apps.leases.queue import work_send
from controlplane.domain.async_requests.states import WebhookStatus


def webhooks_write(requests: QuerySet[AsyncRequest]) -> None:
    """Queue a webhook about the outcome for each of these requests that named one."""
    for request in requests.exclude(webhook_endpoint="").filter(webhook=None).only("id"):
        work_send(ASYNC_WEBHOOK, AsyncWebhook.objects.create(request=request))


def webhook_left_out() -> Case:
    """Return, for an update, what a webhook's status says that will not be sent."""
    return Case(
        When(webhook_endpoint="", then=Value(WebhookStatus.NONE.value)),
        default=Value(WebhookStatus.CANCELED.value),
        output_field=CharField(),
    )
