from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Q, QuerySet

from apps.accounts.models import ApiKey, Team
from apps.async_requests.models import AsyncRequest
from apps.rest.errors import NotFound
from controlplane.domain.async_requests.states import AsyncStatus


@dataclass(frozen=True, kw_only=True)
class QueueStatus:
    queued: int
    in_progress: int


def async_request_list(
    *, team: Team, deployment_id: str, status: str = ""
) -> QuerySet[AsyncRequest]:
    """Return the team's requests of a deployment, newest first, without what they hold."""
    rows = AsyncRequest.objects.filter(team=team, deployment_id=deployment_id)
    if status:
        rows = rows.filter(status=status)
    rows = rows.select_related("webhook", "api_key").defer("model_input", "output")
    return rows.order_by("-created_at", "-id")


def async_request_get(*, team: Team, request_id: str, model_id: str = "") -> AsyncRequest:
    rows = AsyncRequest.objects.filter(team=team, id=request_id)
    if model_id:
        rows = rows.filter(model_id=model_id)
    async_request = rows.select_related("webhook", "api_key").defer("model_input").first()
    if async_request is None:
        raise NotFound(f"There is no asynchronous request `{request_id[:64]}`.")
    return async_request


def async_request_of_key(*, key_id: str, request_id: str, model_id: str) -> AsyncRequest:
    """Return a request of the key's team and model. Raises NotFound."""
    key = ApiKey.objects.select_related("team").filter(id=key_id, revoked_at=None).first()
    if key is None:
        raise NotFound("This API key was revoked.")
    return async_request_get(team=key.team, request_id=request_id, model_id=model_id)


def queue_status(*, deployment_id: str) -> QueueStatus:
    rows = AsyncRequest.objects.filter(deployment_id=deployment_id)
    counted: dict[str, Any] = rows.aggregate(
        queued=Count("id", filter=Q(status=AsyncStatus.QUEUED)),
        in_progress=Count("id", filter=Q(status=AsyncStatus.IN_PROGRESS)),
    )
    return QueueStatus(**counted)
