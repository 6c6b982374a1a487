"""Requests for tests, as a gateway counted them, rolled up into series."""

from uuid import uuid4

from apps.deployments.models import Deployment
from apps.telemetry.series.services import series_fold
from apps.telemetry.services.usage import SetAside, UsageRecord, usage_add
from controlplane import clock


def make_requests(
    deployment: Deployment,
    many: int = 1,
    *,
    age_seconds: float = 0.0,
    status: int = 200,
    environment: str | None = "production",
    key_id: str = "key",
    prompt_tokens: int = 5,
    completion_tokens: int = 7,
    first_seconds: float = 0.2,
    request_id: str = "r",
) -> None:
    """Have a gateway hand in so many like it, streamed, each of which took half a second."""
    record = {
        "request_id": request_id, "state": "closed", "at": clock.now().timestamp() - age_seconds,
        "model_id": deployment.model_id, "deployment_id": deployment.id,
        "environment": environment, "key_id": key_id, "status": status, "stream": True,
        "prompt_tokens": prompt_tokens, "completion_tokens": completion_tokens,
        "cached_tokens": prompt_tokens // 2, "queue_seconds": 0.001, "duration_seconds": 0.5,
        "first_byte_seconds": first_seconds, "request_bytes": 900, "response_bytes": 4000,
    }  # fmt: skip
    usage_add(
        journal=uuid4(), gateway_name="g", from_offset=0, to_offset=1,
        records=[UsageRecord.model_validate(record)] * many, set_aside=SetAside(),
        team_ids={deployment.model_id: deployment.model.team_id},
    )  # fmt: skip
    series_fold()
