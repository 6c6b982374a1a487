"""Asynchronous requests as rows."""

from datetime import timedelta
from typing import Any

from apps.accounts.models import ApiKey
from apps.async_requests.models import AsyncRequest, AsyncWebhook
from apps.rest.identifiers import new_id
from controlplane import clock
from controlplane.domain.async_requests.states import WebhookStatus
from tests.factories import make_api_key, make_deployment


def make_async_request(*, deployment: Any = None, **changes: Any) -> AsyncRequest:
    """A queued request for ten minutes."""
    deployment = deployment or make_deployment()
    team, now = deployment.model.team, clock.now()
    if "api_key" not in changes:
        text = make_api_key(team=team)
        changes["api_key"] = ApiKey.objects.get(prefix=text.partition(".")[0])
    defaults = {
        "id": new_id(32),
        "team": team,
        "model_id": deployment.model_id,
        "deployment_id": deployment.id,
        "model_input": '{"prompt": "hi"}',
        "status_at": now,
        "expires_at": now + timedelta(seconds=600),
    }
    if changes.get("webhook_endpoint"):
        defaults["webhook_status"] = WebhookStatus.PENDING
    return AsyncRequest.objects.create(**defaults | changes)


def make_shown_async_request(*, deployment: Any) -> AsyncRequest:
    """One that has ended, beside one that failed and one that waits."""
    now, endpoint = clock.now(), "https://hooks.example.com/answers"
    errors = [{"code": "MODEL_PREDICT_ERROR", "message": "The engine answered 500."}]
    text = make_api_key(team=deployment.model.team, name="nightly summaries")
    key = ApiKey.objects.get(prefix=text.partition(".")[0])
    make_async_request(deployment=deployment, api_key=key, priority=1)
    make_async_request(
        deployment=deployment, api_key=key, status="FAILED", attempts=3, errors=errors,
        finished_at=now,
    )  # fmt: skip
    return make_async_request(
        deployment=deployment, api_key=key, status="SUCCEEDED", attempts=1, finished_at=now,
        webhook_endpoint=endpoint, webhook_status=WebhookStatus.SUCCEEDED,
        output='{"choices": [{"message": {"content": "Hello."}}]}', environment="production",
    )  # fmt: skip


def make_async_webhook(**changes: Any) -> AsyncWebhook:
    """The delivery of a request that has succeeded."""
    request = make_async_request(
        deployment=changes.pop("deployment", None),
        status="SUCCEEDED", output='{"x": 1}', finished_at=clock.now(),
        webhook_endpoint=changes.pop("endpoint", "https://hooks.example.com/"),
    )  # fmt: skip
    return AsyncWebhook.objects.create(request=request, **changes)
