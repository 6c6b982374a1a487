"""Requests taken in: a gateway says so to its client only once the row is committed."""

from datetime import timedelta

from django.db import transaction

from apps.accounts.models import ApiKey
from apps.async_requests.leasing import ASYNC_REQUEST
from apps.async_requests.models import AsyncRequest
from apps.async_requests.own_key import own_key_ensure
from apps.leases.queue import work_send
from apps.rest.errors import InvalidInput, NotFound
from controlplane import clock
from controlplane.domain.async_requests.asking import Ask, AskProblem, read_ask
from controlplane.domain.async_requests.states import OPEN, WebhookStatus

MOST_OPEN = 50_000
"""Queued or in progress, of one team. Source: the hosted product's API reference."""


class QueueFull(Exception):
    """The team has as many requests open as it may have."""

    def __init__(self) -> None:
        super().__init__(
            f"{MOST_OPEN:,} asynchronous requests of this team are queued or in progress, and no "
            "more are taken. Send the request again once some have ended."
        )


def async_request_accept(
    *, id: str, key_id: str, model_id: str, deployment_id: str, environment: str, content: str
) -> AsyncRequest:
    """Return the request as it waits now, the same one where it was accepted before.

    Raises InvalidInput, QueueFull, or NotFound where the key has ended meanwhile.
    """
    ask = _read(content)
    key = ApiKey.objects.select_related("team").filter(id=key_id, revoked_at=None).first()
    if key is None:
        raise NotFound("This API key was revoked.")
    known = AsyncRequest.objects.filter(id=id, team=key.team).first()
    if known is not None:
        return known
    if AsyncRequest.objects.filter(team=key.team, status__in=OPEN)[MOST_OPEN - 1 :].exists():
        raise QueueFull
    own_key_ensure(team=key.team)
    return _stored(id, key, model_id, deployment_id, environment, ask)


def _read(content: str) -> Ask:
    try:
        return read_ask(content)
    except AskProblem as problem:
        raise InvalidInput(str(problem)) from None


@transaction.atomic
def _stored(
    id: str, key: ApiKey, model_id: str, deployment_id: str, environment: str, ask: Ask
) -> AsyncRequest:
    now = clock.now()
    request, _ = AsyncRequest.objects.get_or_create(
        id=id,
        team=key.team,
        defaults={
            "api_key": key,
            "model_id": model_id,
            "deployment_id": deployment_id,
            "environment": environment,
            "priority": ask.priority,
            "max_attempts": ask.max_attempts,
            "initial_delay_ms": ask.initial_delay_ms,
            "max_delay_ms": ask.max_delay_ms,
            "webhook_endpoint": ask.webhook_endpoint,
            "webhook_status": WebhookStatus.PENDING if ask.webhook_endpoint else WebhookStatus.NONE,
            "model_input": ask.model_input,
            "status_at": now,
            "expires_at": now + timedelta(seconds=ask.queue_seconds),
        },
    )
    work_send(ASYNC_REQUEST, request)
    return request
