"""What gateways ask and say: routes after a version, the version applied, and usage."""

import json
import re
from typing import Annotated, Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from pydantic import BaseModel, Field

from apps.deployments.autoscaling.signal import load_add
from apps.deployments.autoscaling.waking import WAITED, deployments_wake
from apps.fleet.internal_authentication import calling_gateway, unknown_credential
from apps.fleet.services.gateways import gateway_applied, gateway_seen
from apps.rest.internal import bearer, internal_view, read_body, read_body_of_records
from apps.rest.machine_bodies import Count, MachineBody, Moment, SmallCount
from apps.routes.book import BOOK
from apps.routes.services import usage_ingest
from apps.routes.snapshot import routes_snapshot
from apps.telemetry.services.usage import OffsetMismatch
from controlplane import clock
from controlplane.domain.wire.routes import APPLIED_HEADER, FORMAT, TIME_HEADER

_NUMBER = re.compile(r"[0-9]{1,18}")
_MOMENT = re.compile(r"[0-9]{1,12}(\.[0-9]{1,9})?")


class AppliedBody(MachineBody):
    version: Count


DeploymentId = Annotated[str, Field(pattern=r"^[0-9A-Za-z_-]{1,16}$")]
ReplicaId = DeploymentId
Reason = Annotated[str, Field(pattern=r"^[a-z_]{1,32}$")]


class DeploymentLoad(MachineBody):
    requests: float = Field(ge=0, le=1e9, allow_inf_nan=False)
    held: SmallCount = 0
    tokens: float = Field(default=0, ge=0, le=1e15, allow_inf_nan=False)


class LoadBody(MachineBody):
    sequence: Count
    seconds: float = Field(ge=0, le=1e6, allow_inf_nan=False)
    woken: list[DeploymentId] = Field(default_factory=list, max_length=10_000)
    deployments: dict[DeploymentId, DeploymentLoad] = Field(
        default_factory=dict, max_length=100_000
    )
    ejected: dict[ReplicaId, Reason] = Field(default_factory=dict, max_length=100_000)
    """Absent from a gateway of the release before."""


class UsageBody(BaseModel):
    """Records as they came: what of one cannot be stored sets it aside, not a part of it."""

    journal: UUID
    from_offset: Count
    to_offset: Count
    sent_at: Moment | None = None
    """By the clock of the records; absent from a gateway of the release before."""
    records: list[Any] = Field(max_length=10_000)


@internal_view("GET")
def routes(request: HttpRequest) -> HttpResponseBase:
    """Return what changed after a version, or all, or nothing when the gateway already has it.

    A gateway of the release before does not say what it reads, and is told all in its form.
    """
    applied = _number(request, "applied")
    version = gateway_seen(
        credential=bearer(request),
        sent_at=_sent_at(request),
        disk_free_bytes=_number(request, "free_bytes"),
        applied_version=applied,
    )
    if version is None:
        raise unknown_credential()
    snapshot = _routes_for(request, version)
    if snapshot is None:
        answer = HttpResponse(status=204)
    else:
        answer = HttpResponse(json.dumps(snapshot), content_type="application/json")
    if applied is not None:
        answer[APPLIED_HEADER] = str(applied)
    answer[TIME_HEADER] = f"{clock.now().timestamp():.3f}"
    return answer


def _routes_for(request: HttpRequest, version: int) -> dict[str, Any] | None:
    after = _number(request, "after") or 0
    if request.GET.get("format") == str(FORMAT):
        return BOOK.answer(after=after, digest=request.GET.get("digest"), version=version)
    return None if after == version else routes_snapshot()


def _number(request: HttpRequest, name: str) -> int | None:
    text = request.GET.get(name, "")
    return int(text) if _NUMBER.fullmatch(text) else None


def _sent_at(request: HttpRequest) -> float | None:
    text = request.GET.get("sent_at", "")
    return float(text) if _MOMENT.fullmatch(text) else None


@internal_view("POST")
def gateways_applied(request: HttpRequest) -> HttpResponseBase:
    gateway = calling_gateway(request)
    gateway_applied(gateway=gateway, version=read_body(request, AppliedBody).version)
    return JsonResponse({})


@internal_view("POST")
def gateways_load(request: HttpRequest) -> HttpResponseBase:
    """Keep what a gateway has in flight, and start at once what it has requests for."""
    gateway = calling_gateway(request)
    body = read_body(request, LoadBody)
    loads = {id: each.model_dump() for id, each in body.deployments.items()}
    load_add(
        gateway=gateway,
        sequence=body.sequence,
        seconds=body.seconds,
        loads=loads,
        ejected=body.ejected,
    )
    deployments_wake(ids=body.woken)
    waited_for = [id for id, each in body.deployments.items() if each.held]
    deployments_wake(ids=waited_for, why=WAITED)
    return JsonResponse({})


@internal_view("POST")
def usage(request: HttpRequest) -> HttpResponseBase:
    """Count a stretch of a gateway's journal; a repeat is a no-op, a gap is refused."""
    gateway = calling_gateway(request)
    body = read_body_of_records(request, UsageBody)
    try:
        committed = usage_ingest(
            journal=body.journal,
            gateway=gateway,
            from_offset=body.from_offset,
            to_offset=body.to_offset,
            records=body.records,
            sent_at=body.sent_at,
        )
    except OffsetMismatch as mismatch:
        return JsonResponse(
            {
                "code": "offset_mismatch",
                "message": str(mismatch),
                "fields": ["from_offset"],
                "hint": "Send the journal again from `committed_offset`.",
                "source": None,
                "committed_offset": mismatch.committed_offset,
            },
            status=409,
        )
    return JsonResponse({"committed_offset": committed})
