"""What agents say of their node, and what they are told to run."""

from typing import Annotated, Any, Literal

from django.http import HttpRequest, HttpResponseBase, JsonResponse
from pydantic import Field, field_validator

from apps.deployments.models import Replica
from apps.deployments.services.observing import ReplicaReport, replicas_observe
from apps.deployments.wanted_replicas import wanted_replicas_of
from apps.fleet.internal_api import DeviceBody
from apps.fleet.internal_authentication import calling_node, removed
from apps.fleet.models import Node
from apps.fleet.services.nodes import DeviceUse, node_observe
from apps.fleet.services.removing import NodeRemoved
from apps.rest.internal import InternalRefusal, internal_view, read_body
from apps.rest.machine_bodies import Count, MachineBody, Moment, SmallCount, Words
from apps.secrets.services.redaction import secret_redactor
from apps.telemetry.logs import log_append
from controlplane.domain.device_users import DeviceUser
from controlplane.domain.failures import Blame, Failure
from controlplane.domain.lifecycle import ReplicaState
from controlplane.domain.wire.engine_report import engine_report

FORMAT = 1
LARGEST_CHUNK = 256 * 1024
ObservedState = Literal["starting", "loading", "ready", "draining", "stopped", "failed"]


class FailureBody(MachineBody):
    code: str = Field(max_length=64)
    blame: Blame
    sentence: Words
    field: Words | None = None
    hint: Words | None = None
    fix: dict[str, Any] | None = None
    detail: Words | None = None

    def to_failure(self) -> Failure:
        return Failure.from_json(self.model_dump(mode="json"))


class DeviceUserBody(MachineBody):
    pid: SmallCount
    name: str = Field(default="", max_length=64)
    user: str = Field(default="", max_length=64)
    held_bytes: Count | None = None
    is_ours: bool = False
    has_ended: bool = False

    def to_user(self) -> DeviceUser:
        return DeviceUser.from_json(self.model_dump())


class DeviceUseBody(DeviceBody):
    used_bytes: Count | None = None
    utilization_percent: Annotated[float, Field(ge=0, le=100)] | None = None
    power_watts: Annotated[float, Field(ge=0, le=1e5)] | None = None
    clean: bool = True
    used_by: list[DeviceUserBody] = Field(default=[], max_length=64)

    def to_use(self) -> DeviceUse:
        return DeviceUse(
            used_bytes=self.used_bytes,
            utilization_percent=self.utilization_percent,
            power_watts=self.power_watts,
            is_clean=self.clean,
            used_by=tuple(each.to_user() for each in self.used_by),
        )


class ReplicaBody(MachineBody):
    id: str = Field(max_length=16)
    generation: SmallCount
    state: ObservedState
    host: str = Field(default="", max_length=253)
    port: Annotated[int, Field(gt=0, lt=65536)] | None = None
    probe_port: Annotated[int, Field(gt=0, lt=65536)] | None = None
    pid: Annotated[int, Field(gt=0, lt=2**31)] | None = None
    failure: FailureBody | None = None
    report: dict[str, Any] | None = None
    metrics: dict[str, float] | None = None

    def to_report(self) -> ReplicaReport:
        return ReplicaReport(
            id=self.id,
            generation=self.generation,
            state=ReplicaState(self.state),
            host=self.host,
            port=self.port,
            probe_port=self.probe_port,
            pid=self.pid,
            failure=self.failure.to_failure() if self.failure else None,
            report=self.report,
            metrics=self._finite_metrics(),
        )

    @field_validator("report")
    @classmethod
    def _plain_report(cls, report: dict[str, Any] | None) -> dict[str, Any] | None:
        return None if report is None else engine_report(report)

    def _finite_metrics(self) -> dict[str, float] | None:
        if self.metrics is None:
            return None
        return {name: value for name, value in self.metrics.items() if value is not None}


class ObserveBody(MachineBody):
    format: Annotated[int, Field(ge=FORMAT - 1, le=FORMAT)]
    boot_id: str = Field(max_length=64)
    sent_at: Moment | None = None
    disk_free_bytes: Count | None = None
    devices: list[DeviceUseBody] = Field(max_length=256)
    runtimes: list[Annotated[str, Field(max_length=32)]] = Field(default=[], max_length=16)
    replicas: list[ReplicaBody] = Field(max_length=1024)


class LogBody(MachineBody):
    replica_id: str = Field(max_length=16)
    attempt: SmallCount
    sequence: SmallCount
    text: str = Field(max_length=LARGEST_CHUNK)


@internal_view("POST")
def nodes_observe(request: HttpRequest) -> HttpResponseBase:
    """Store what the node says and return what it should run."""
    node = calling_node(request)
    body = read_body(request, ObserveBody)
    try:
        node_observe(
            node=node,
            boot_id=body.boot_id,
            devices={device.to_report(): device.to_use() for device in body.devices},
            runtimes=body.runtimes,
            sent_at=body.sent_at,
            disk_free_bytes=body.disk_free_bytes,
        )
    except NodeRemoved:
        raise removed(node) from None
    replicas_observe(node=node, reports=[each.to_report() for each in body.replicas])
    # The version first: what changes in between is then told again, not missed.
    version = Node.objects.values_list("wanted_version", flat=True).get(id=node.id)
    desired = wanted_replicas_of(node=node)
    return JsonResponse({"format": FORMAT, "version": version, "replicas": desired})


@internal_view("POST")
def nodes_logs(request: HttpRequest) -> HttpResponseBase:
    """Keep one piece of a replica's log; a repeat changes nothing."""
    node = calling_node(request)
    body = read_body(request, LogBody)
    replica = (
        Replica.objects.select_related("deployment__model__team")
        .filter(id=body.replica_id, node=node)
        .first()
    )
    if replica is None:
        raise InternalRefusal(
            404, "not_found", f"Replica `{body.replica_id}` is not one of this node's."
        )
    # No engine is given a secret; a request or a template may hold one all the same.
    text = secret_redactor(team=replica.deployment.model.team).text(body.text)
    log_append(owner=replica.log_owner, attempt=body.attempt, sequence=body.sequence, text=text)
    return JsonResponse({})
