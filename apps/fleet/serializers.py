"""Nodes and the hardware they offer, as JSON."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.fleet import examples
from apps.fleet.models import Card, Node
from apps.fleet.services.cards import free_of
from apps.rest.examples import shown_as
from apps.rest.paging import Pagination


class CardObject(serializers.Serializer[Any]):
    id = serializers.CharField()
    index = serializers.IntegerField()
    uuid = serializers.CharField()
    kind = serializers.CharField()
    name = serializers.CharField(allow_blank=True)
    memory_bytes = serializers.IntegerField()
    used_bytes = serializers.IntegerField(allow_null=True)
    utilization_percent = serializers.FloatField(allow_null=True)
    is_present = serializers.BooleanField()
    is_clean = serializers.BooleanField()
    claimed_bytes = serializers.SerializerMethodField()
    free_bytes = serializers.SerializerMethodField()

    def get_claimed_bytes(self, card: Card) -> int:
        return sum(lease.memory_bytes for lease in _live_leases(card))

    def get_free_bytes(self, card: Card) -> int:
        return free_of(card, _live_leases(card))


@shown_as(examples.NODE)
class NodeObject(serializers.Serializer[Any]):
    id = serializers.CharField()
    name = serializers.CharField()
    status = serializers.SerializerMethodField()
    cordoned = serializers.BooleanField()
    address = serializers.CharField()
    pool = serializers.CharField()
    agent_version = serializers.CharField(allow_blank=True)
    host_memory_bytes = serializers.IntegerField()
    enrolled_at = serializers.DateTimeField()
    last_heartbeat_at = serializers.DateTimeField(allow_null=True)
    cards = CardObject(many=True)

    @extend_schema_field(serializers.ChoiceField(choices=["live", "silent"]))
    def get_status(self, node: Node) -> str:
        return "live" if getattr(node, "is_alive", False) else "silent"


class NodeListObject(serializers.Serializer[Any]):
    nodes = NodeObject(many=True)
    pagination = Pagination()


@shown_as(examples.INSTANCE_TYPE)
class InstanceTypeObject(serializers.Serializer[Any]):
    """One kind of hardware that is here now."""

    id = serializers.CharField()
    name = serializers.CharField()
    memory_limit_mib = serializers.IntegerField()
    millicpu_limit = serializers.IntegerField()
    gpu_count = serializers.IntegerField()
    gpu_type = serializers.CharField(allow_null=True)
    gpu_memory_limit_mib = serializers.IntegerField(allow_null=True)


class InstanceTypeListObject(serializers.Serializer[Any]):
    instance_types = InstanceTypeObject(many=True)


def _live_leases(card: Card) -> list[Any]:
    leases: list[Any] = getattr(card, "live_leases", [])
    return leases
