"""One line of the usage journal."""

import json
from enum import StrEnum
from functools import lru_cache

from workers.gateway.meter import Meter
from workers.gateway.request import Admission
from workers.gateway.usage import TokenCounts


class RecordState(StrEnum):
    OPEN = "open"
    RUNNING = "running"
    CLOSED = "closed"


def usage_line(
    state: RecordState,
    meter: Meter,
    admission: Admission,
    replica_id: str | None,
    counts: TokenCounts | None,
    *,
    at: float,
    now: float,
) -> bytes:
    """Return the record as a JSON line that begins with its request id.

    `at` is the moment by the calendar, `now` by the clock that measures.
    """
    deployment = admission.deployment
    named = _named(
        deployment.model_id, deployment.id, admission.environment, admission.key.id,
        admission.route, admission.route in deployment.extra_routes, admission.key.traffic_mark,
    )  # fmt: skip
    measured = (
        f'"replica_id":{_text(replica_id)},"status":{_or_null(meter.status)},'
        f'"stream":{"true" if meter.stream else "false"},'
        f'"prompt_tokens":{"null" if counts is None else counts.prompt},'
        f'"completion_tokens":{"null" if counts is None else counts.completion},'
        f'"cached_tokens":{"null" if counts is None else _or_null(counts.cached)},'
        f'"queue_seconds":{_or_null(meter.queue_seconds)},'
        f'"first_byte_seconds":{_or_null(meter.first_byte_seconds)},'
        f'"duration_seconds":{now - meter.started_at:.6f},'
        f'"request_bytes":{meter.request_bytes},"response_bytes":{meter.response_bytes}'
    )
    id = meter.request_id.decode()
    return f'{{"request_id":"{id}","state":"{state}","at":{at:.6f},{named},{measured}}}\n'.encode()


@lru_cache(maxsize=4096)
def _named(
    model_id: str,
    deployment_id: str,
    environment: str | None,
    key_id: str,
    route: str,
    is_extra_route: bool,
    traffic_mark: str,
) -> str:
    fields = {
        "model_id": model_id,
        "deployment_id": deployment_id,
        "environment": environment,
        "key_id": key_id,
        "route": route[:200],
        "is_extra_route": is_extra_route,
    }
    if traffic_mark:
        fields["traffic_mark"] = traffic_mark
    return json.dumps(fields, separators=(",", ":"))[1:-1]


@lru_cache(maxsize=4096)
def _text(value: str | None) -> str:
    return json.dumps(value)


def _or_null(value: float | None) -> str:
    return "null" if value is None else f"{value:.6f}" if isinstance(value, float) else str(value)
