"""What gateways ask and say: routes after a version, the version applied, and usage."""

from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from pydantic import BaseModel, Field

from apps.accounts.routes_version import routes_version_current
from apps.fleet.internal_authentication import calling_gateway
from apps.fleet.services import gateway_applied, gateway_seen
from apps.rest.internal import internal_view, read_body
from apps.rest.machine_bodies import Count, MachineBody
from apps.routes.services import usage_ingest
from apps.routes.snapshot import routes_snapshot
from apps.telemetry.services.usage import OffsetMismatch


class AppliedBody(MachineBody):
    version: Count


class UsageBody(BaseModel):
    """Records as they came: what of one cannot be stored sets it aside, not a part of it."""

    journal: UUID
    from_offset: Count
    to_offset: Count
    records: list[dict[str, Any]] = Field(max_length=10_000)


@internal_view("GET")
def routes(request: HttpRequest) -> HttpResponseBase:
    """Return the snapshot, or nothing when the gateway already has it."""
    gateway = calling_gateway(request)
    gateway_seen(gateway=gateway)
    if request.GET.get("after") == str(routes_version_current()):
        return HttpResponse(status=204)
    return JsonResponse(routes_snapshot())


@internal_view("POST")
def gateways_applied(request: HttpRequest) -> HttpResponseBase:
    """Record which routes the gateway works by."""
    gateway = calling_gateway(request)
    gateway_applied(gateway=gateway, version=read_body(request, AppliedBody).version)
    return JsonResponse({})


@internal_view("POST")
def usage(request: HttpRequest) -> HttpResponseBase:
    """Count a stretch of a gateway's journal; a repeat is a no-op, a gap is refused."""
    gateway = calling_gateway(request)
    body = read_body(request, UsageBody)
    try:
        committed = usage_ingest(
            journal=body.journal,
            gateway=gateway,
            from_offset=body.from_offset,
            to_offset=body.to_offset,
            records=body.records,
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
