"""One line of the usage journal."""

import json
from enum import StrEnum
from functools import lru_cache

from workers.gateway.request import Admission
from workers.gateway.usage import TokenCounts


class RecordState(StrEnum):
    OPEN = "open"
    RUNNING = "running"
    CLOSED = "closed"


def usage_line(
    *,
    request_id: bytes,
    state: RecordState,
    at: float,
    admission: Admission,
    replica_id: str | None,
    status: int | None,
    stream: bool,
    counts: TokenCounts | None,
    first_byte_seconds: float | None,
    duration_seconds: float,
    request_bytes: int,
    response_bytes: int,
) -> bytes:
    """Return the record as a JSON line that begins with its request id."""
    deployment = admission.deployment
    named = _named(
        deployment.model_id, deployment.id, admission.environment, admission.key.id,
        admission.route, admission.route in deployment.extra_routes,
    )  # fmt: skip
    measured = (
        f'"replica_id":{_text(replica_id)},"status":{_or_null(status)},'
        f'"stream":{"true" if stream else "false"},'
        f'"prompt_tokens":{"null" if counts is None else counts.prompt},'
        f'"completion_tokens":{"null" if counts is None else counts.completion},'
        f'"first_byte_seconds":{_or_null(first_byte_seconds)},'
        f'"duration_seconds":{duration_seconds:.6f},'
        f'"request_bytes":{request_bytes},"response_bytes":{response_bytes}'
    )
    id = request_id.decode()
    return f'{{"request_id":"{id}","state":"{state}","at":{at:.6f},{named},{measured}}}\n'.encode()


@lru_cache(maxsize=4096)
def _named(
    model_id: str,
    deployment_id: str,
    environment: str | None,
    key_id: str,
    route: str,
    is_extra_route: bool,
) -> str:
    fields = {
        "model_id": model_id,
        "deployment_id": deployment_id,
        "environment": environment,
        "key_id": key_id,
        "route": route[:200],
        "is_extra_route": is_extra_route,
    }
    return json.dumps(fields, separators=(",", ":"))[1:-1]


@lru_cache(maxsize=4096)
def _text(value: str | None) -> str:
    return json.dumps(value)


def _or_null(value: float | None) -> str:
    return "null" if value is None else f"{value:.6f}" if isinstance(value, float) else str(value)
