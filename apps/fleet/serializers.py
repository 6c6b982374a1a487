from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.fleet import examples
from apps.fleet.models import Device, Node
from apps.fleet.services.devices import free_of
from apps.rest.examples import shown_as
from apps.rest.paging import ListQuery, Pagination
from apps.rest.serializers import StrictSerializer


class DeviceUserObject(serializers.Serializer[Any]):
    """One process on a GPU, ours or not."""

    pid = serializers.IntegerField(help_text="Its process id on the node.")
    name = serializers.CharField(
        allow_blank=True, help_text="Blank where the host does not show the process."
    )
    user = serializers.CharField(
        allow_blank=True,
        help_text="The user that it runs as; blank where the host does not show it.",
    )
    held_bytes = serializers.IntegerField(
        allow_null=True,
        help_text="Memory that it holds of the GPU; null where the driver does not say.",
    )
    is_ours = serializers.BooleanField(help_text="Whether Enginehouse started it.")
    has_ended = serializers.BooleanField(
        help_text="It is dead, and the driver has not let go of it."
    )


@shown_as(examples.DEVICE)
class DeviceObject(serializers.Serializer[Any]):
    id = serializers.CharField()
    index = serializers.IntegerField(help_text="Its place in the node, from 0.")
    uuid = serializers.CharField(help_text="The driver's own id of it.")
    kind = serializers.CharField(help_text="Its kind, as `resources.accelerator` names it.")
    name = serializers.CharField(allow_blank=True, help_text="What the driver calls it.")
    memory_bytes = serializers.IntegerField(help_text="Its memory.")
    computes_bfloat16 = serializers.BooleanField(
        help_text="Of a CPU: whether its processor does so by itself."
    )
    used_bytes = serializers.IntegerField(
        allow_null=True, help_text="Memory in use, by whomever; null where the driver does not say."
    )
    utilization_percent = serializers.FloatField(
        allow_null=True, help_text="How busy it is; null where the driver does not say."
    )
    is_present = serializers.BooleanField(help_text="Whether its node saw it when it spoke last.")
    is_clean = serializers.BooleanField(
        help_text="Whether its node saw nobody else's process on it."
    )
    used_by = DeviceUserObject(many=True, help_text="Processes on it, ours or not.")
    pool = serializers.CharField(
        allow_blank=True, help_text="Where it is assigned to; blank for the pool of its node."
    )
    claimed_bytes = serializers.IntegerField(
        help_text="Memory that builds and replicas have leased."
    )
    free_bytes = serializers.IntegerField(help_text="Memory that can be leased.")

    def to_representation(self, device: Device) -> dict[str, Any]:
        # By hand: a page of nodes has hundreds of GPUs, and a field costs more than its value.
        leases = _live_leases(device)
        claimed = sum(lease.memory_bytes for lease in leases)
        fields = {name: getattr(device, name) for name in _OF_DEVICE}
        return fields | {"claimed_bytes": claimed, "free_bytes": free_of(device, leases)}


_COMPUTED = ("claimed_bytes", "free_bytes")
_OF_DEVICE = tuple(str(name) for name in DeviceObject().fields if str(name) not in _COMPUTED)


@shown_as(examples.NODE)
class NodeObject(serializers.Serializer[Any]):
    id = serializers.CharField()
    name = serializers.CharField()
    status = serializers.SerializerMethodField(
        help_text="`silent` where its agent has said nothing for a while."
    )
    cordoned = serializers.BooleanField(help_text="Whether nothing new is placed on it.")
    draining_since = serializers.DateTimeField(
        allow_null=True, help_text="Since when it is drained; null where it is not."
    )
    labels = serializers.DictField(
        child=serializers.CharField(allow_blank=True), help_text="Labels by name."
    )
    runtimes = serializers.ListField(
        child=serializers.CharField(),
        help_text="What its host is set up to start; empty where its agent does not say.",
    )
    runtime_versions = serializers.DictField(
        child=serializers.CharField(),
        help_text="Runtime to the version that its engines reported when they last ran.",
    )
    address = serializers.CharField(help_text="Where gateways reach its replicas.")
    pool = serializers.CharField(help_text="The pool that its GPUs belong to.")
    agent_version = serializers.CharField(
        allow_blank=True, help_text="The version of its agent; blank before it has spoken."
    )
    host_memory_bytes = serializers.IntegerField(help_text="Memory of the host.")
    enrolled_at = serializers.DateTimeField(help_text="When it joined.")
    last_heartbeat_at = serializers.DateTimeField(
        allow_null=True, help_text="When its agent spoke last; null before it has."
    )
    clock_ahead_seconds = serializers.IntegerField(
        help_text="Of the database's clock, by more than a minute; negative where it is behind."
    )
    disk_free_bytes = serializers.IntegerField(
        allow_null=True,
        help_text="On the disk under its agent's folder; null where the agent does not say.",
    )
    devices = DeviceObject(many=True, help_text="What of it can be leased: GPUs, or the CPU.")

    @extend_schema_field(serializers.ChoiceField(choices=["live", "silent"]))
    def get_status(self, node: Node) -> str:
        return "live" if getattr(node, "is_alive", False) else "silent"


class NodeQuery(ListQuery):
    """Those with a label, in parts."""

    def get_fields(self) -> dict[str, Any]:
        label = serializers.CharField(
            required=False, max_length=200, help_text="`name` or `name=value`."
        )
        return {**super().get_fields(), "label": label}


@shown_as({"labels": {"zone": "rack-4", "retired": None}})
class NodeBody(StrictSerializer):
    labels = serializers.DictField(
        child=serializers.CharField(allow_null=True, allow_blank=True, max_length=63),
        help_text="Labels to change, name to value; null removes one.",
    )


class NodeListObject(serializers.Serializer[Any]):
    nodes = NodeObject(many=True, help_text="Nodes.")
    pagination = Pagination()


@shown_as(examples.INSTANCE_TYPE)
class InstanceTypeObject(serializers.Serializer[Any]):
    """One kind of hardware that is here now."""

    id = serializers.CharField(help_text="Its id, which is its name.")
    name = serializers.CharField(help_text="As `resources.accelerator` says it.")
    memory_limit_mib = serializers.IntegerField(help_text="Host memory, in MiB.")
    millicpu_limit = serializers.IntegerField(help_text="Thousandths of a core.")
    gpu_count = serializers.IntegerField(help_text="GPUs of one replica; 0 for the CPU.")
    gpu_type = serializers.CharField(allow_null=True, help_text="Kind of GPU; null for the CPU.")
    gpu_memory_limit_mib = serializers.IntegerField(
        allow_null=True, help_text="Memory of one GPU, in MiB; null for the CPU."
    )


class InstanceTypeListObject(serializers.Serializer[Any]):
    instance_types = InstanceTypeObject(many=True, help_text="What is here now.")


def _live_leases(device: Device) -> list[Any]:
    leases: list[Any] = getattr(device, "live_leases", [])
    return leases
