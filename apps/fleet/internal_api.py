"""How agents and gateways join: a one-time token against a credential of their own."""

from typing import Annotated

from django.http import HttpRequest, HttpResponseBase, JsonResponse
from pydantic import Field

from apps.fleet.services.enrollment import EnrollmentRefused, enrollment_refusal_audit
from apps.fleet.services.gateways import gateway_enroll
from apps.fleet.services.nodes import DeviceReport, node_enroll
from apps.rest.internal import InternalRefusal, bearer, internal_view, read_body
from apps.rest.machine_bodies import Count, MachineBody, Sha256, UnprivilegedPort

# What a queue, a log owner and a page can carry without escaping.
Name = Annotated[str, Field(min_length=1, max_length=253, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
Address = Annotated[str, Field(min_length=1, max_length=253)]


class DeviceBody(MachineBody):
    index: int = Field(ge=0, le=1000)
    uuid: str = Field(min_length=1, max_length=64)
    kind: str = Field(min_length=1, max_length=32)
    memory_bytes: Count
    name: str = Field(default="", max_length=128)
    computes_bfloat16: bool = False

    def to_report(self) -> DeviceReport:
        return DeviceReport(
            index=self.index,
            uuid=self.uuid,
            kind=self.kind,
            memory_bytes=self.memory_bytes,
            name=self.name,
            computes_bfloat16=self.computes_bfloat16,
        )


class FactsBody(MachineBody):
    threads: Annotated[int, Field(ge=1, lt=2**31)] = 1


class EnrollBody(MachineBody):
    name: Name
    credential_sha256: Sha256
    """Of what it will send as its credential, which it made itself: a repeat is recognised."""
    address: Address
    engine_ports: tuple[UnprivilegedPort, UnprivilegedPort]
    """The lowest and the highest that its engines listen on."""
    boot_id: str = Field(max_length=64)
    agent_version: str = Field(default="", max_length=32)
    host_memory_bytes: Count
    devices: list[DeviceBody] = Field(max_length=256)
    facts: FactsBody = FactsBody()


class GatewayEnrollBody(MachineBody):
    name: Name
    credential_sha256: Sha256
    address: str = Field(default="", max_length=253)


@internal_view("POST")
def nodes_enroll(request: HttpRequest) -> HttpResponseBase:
    token = bearer(request)
    body = read_body(request, EnrollBody)
    try:
        node = node_enroll(
            token=token,
            name=body.name,
            credential_sha256=body.credential_sha256,
            address=body.address,
            engine_ports=body.engine_ports,
            boot_id=body.boot_id,
            agent_version=body.agent_version,
            host_memory_bytes=body.host_memory_bytes,
            facts=body.facts.model_dump(),
            devices=[device.to_report() for device in body.devices],
        )
    except EnrollmentRefused as refused:
        enrollment_refusal_audit(token=token, joiner=f"node:{body.name}")
        raise InternalRefusal(401, "enrollment_refused", str(refused)) from None
    return JsonResponse({"node_id": node.id})


@internal_view("POST")
def gateways_enroll(request: HttpRequest) -> HttpResponseBase:
    token = bearer(request)
    body = read_body(request, GatewayEnrollBody)
    try:
        gateway = gateway_enroll(
            token=token,
            name=body.name,
            credential_sha256=body.credential_sha256,
            address=body.address,
        )
    except EnrollmentRefused as refused:
        enrollment_refusal_audit(token=token, joiner=f"gateway:{body.name}")
        raise InternalRefusal(401, "enrollment_refused", str(refused)) from None
    return JsonResponse({"gateway_id": gateway.id})
