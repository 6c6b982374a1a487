"""Nodes over REST. They serve every team, so everyone sees them and admins manage them."""

from collections.abc import Mapping
from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.permissions import Action
from apps.accounts.rest_views import TeamView
from apps.fleet.labels import labelled
from apps.fleet.models import Device, Node
from apps.fleet.selectors import devices_offered, node_list
from apps.fleet.serializers import (
    InstanceTypeListObject,
    NodeBody,
    NodeListObject,
    NodeObject,
    NodeQuery,
)
from apps.fleet.services.assigning import node_label
from apps.fleet.services.placing import node_cordon, node_drain, node_uncordon, node_undrain
from apps.rest.errors import NotFound
from apps.rest.paging import page_of
from apps.rest.serializers import validated

_MIB = 1024**2


class NodeListView(TeamView):
    @extend_schema(parameters=[NodeQuery], responses=NodeListObject)
    def get(self, request: Request) -> Response:
        """Return every node with its GPUs, or those with a label."""
        query = validated(NodeQuery, request.query_params)
        nodes = labelled(node_list(), query.pop("label", ""))
        page = page_of(nodes, by="name", **query)
        return Response(page.to_json(NodeObject, under="nodes"))


class NodeView(TeamView):
    def node(self) -> Node:
        node = node_list().filter(id=self.kwargs["node_id"]).first()
        if node is None:
            raise NotFound(f"There is no node `{self.kwargs['node_id']}`.")
        return node


class NodeDetailView(NodeView):
    actions: ClassVar[Mapping[str, Action]] = {"PATCH": Action.LABEL}

    @extend_schema(responses=NodeObject)
    def get(self, request: Request, node_id: str) -> Response:
        """Return a node."""
        return Response(NodeObject(self.node()).data)

    @extend_schema(request=NodeBody, responses=NodeObject)
    def patch(self, request: Request, node_id: str) -> Response:
        """Set labels of a node; one that is null goes, those left out stay."""
        body = validated(NodeBody, request.data)
        node_label(node=self.node(), changes=body["labels"])
        return Response(NodeObject(self.node()).data)


class NodeCordonView(NodeView):
    actions: ClassVar[Mapping[str, Action]] = {"POST": Action.CORDON}

    @extend_schema(request=None, responses=NodeObject)
    def post(self, request: Request, node_id: str) -> Response:
        """Place nothing new on the node; what runs there stays."""
        node_cordon(node=self.node())
        return Response(NodeObject(self.node()).data)


class NodeUncordonView(NodeView):
    actions: ClassVar[Mapping[str, Action]] = {"POST": Action.CORDON}

    @extend_schema(request=None, responses=NodeObject)
    def post(self, request: Request, node_id: str) -> Response:
        """Place work on the node again."""
        node_uncordon(node=self.node())
        return Response(NodeObject(self.node()).data)


class NodeDrainView(NodeView):
    actions: ClassVar[Mapping[str, Action]] = {"POST": Action.DRAIN}

    @extend_schema(request=None, responses=NodeObject)
    def post(self, request: Request, node_id: str) -> Response:
        """Cordon the node and move its replicas elsewhere: others are ready before they stop."""
        node_drain(node=self.node())
        return Response(NodeObject(self.node()).data)


class NodeUndrainView(NodeView):
    actions: ClassVar[Mapping[str, Action]] = {"POST": Action.DRAIN}

    @extend_schema(request=None, responses=NodeObject)
    def post(self, request: Request, node_id: str) -> Response:
        """Move nothing more off the node; it stays cordoned."""
        node_undrain(node=self.node())
        return Response(NodeObject(self.node()).data)


class InstanceTypeListView(TeamView):
    @extend_schema(responses=InstanceTypeListObject)
    def get(self, request: Request) -> Response:
        """Return the hardware that live nodes offer, one entry a kind and size."""
        distinct: dict[str, dict[str, Any]] = {}
        for device in devices_offered():
            entry = _instance_type(device)
            distinct.setdefault(entry["id"], entry)
        return Response({"instance_types": list(distinct.values())})


def _instance_type(device: Device) -> dict[str, Any]:
    memory_mib = device.memory_bytes // _MIB
    host_mib = device.node.host_memory_bytes // _MIB
    threads = int(device.node.facts.get("threads", 1))
    is_gpu = not device.is_shared
    return {
        "id": f"{device.kind}-{memory_mib}",
        "name": f"{device.kind} {memory_mib / 1024:.0f} GiB",
        "memory_limit_mib": host_mib if is_gpu else memory_mib,
        "millicpu_limit": threads * 1000,
        "gpu_count": int(is_gpu),
        "gpu_type": device.kind if is_gpu else None,
        "gpu_memory_limit_mib": memory_mib if is_gpu else None,
    }
