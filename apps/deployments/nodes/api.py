from collections.abc import Mapping
from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.permissions import Action
from apps.deployments import examples
from apps.deployments.nodes.failed_starts import failed_starts_clear
from apps.deployments.nodes.removing import node_remove
from apps.deployments.nodes.selectors import FailedOnNode, OnNode, builds_on, failed_on, replicas_on
from apps.deployments.nodes.serializers import REPLICA_STATES
from apps.fleet.api import NodeDetailView as FleetNodeDetailView
from apps.fleet.api import NodeView
from apps.rest.examples import shown_as


class OnNodeObject(serializers.Serializer[OnNode]):
    replica_id = serializers.CharField(source="replica.id", help_text="The replica.")
    state = serializers.ChoiceField(
        choices=REPLICA_STATES, source="replica.state", help_text="Where it is."
    )
    is_confirmed = serializers.BooleanField(
        source="replica.is_confirmed",
        help_text="False while the node has not said so for 9 seconds: `state` is the last known.",
    )
    deployment_id = serializers.SerializerMethodField(help_text="Null for another team's.")
    note = serializers.CharField(help_text="While the node is drained: what happens next.")
    is_stuck = serializers.BooleanField(help_text="It cannot move as things are; `note` says why.")

    def get_deployment_id(self, on: OnNode) -> str | None:
        return on.replica.deployment_id if on.is_named else None


class FailedOnNodeObject(serializers.Serializer[FailedOnNode]):
    """Starts that failed in a row on the node; the next is made there after `retry_at`."""

    deployments = serializers.ListField(
        child=serializers.CharField(), help_text="Of the artifact; empty for another team's."
    )
    count = serializers.IntegerField(source="failed.count", help_text="How many failed in a row.")
    first_at = serializers.DateTimeField(
        source="failed.first_at", help_text="When the first of them failed."
    )
    last_at = serializers.DateTimeField(
        source="failed.last_at", help_text="When the last of them failed."
    )
    retry_at = serializers.DateTimeField(
        source="failed.retry_at", help_text="When the next start is made there."
    )
    sentence = serializers.CharField(allow_blank=True, help_text="What the last one said.")


@shown_as(
    {
        "draining_since": "2026-11-27T16:40:02.117340Z",
        "is_drained": False,
        "builds": 1,
        "replicas": [
            {
                "replica_id": "w5n2k",
                "state": "ready",
                "is_confirmed": True,
                "deployment_id": "d5x8mk2p",
                "note": "Its replacement starts on `gpu-host-4`.",
                "is_stuck": False,
            }
        ],
        "failed_starts": [examples.FAILED_ON_NODE],
    }
)
class NodeReplicasObject(serializers.Serializer[Any]):
    draining_since = serializers.DateTimeField(
        allow_null=True, help_text="Since when it is drained; null where it is not."
    )
    is_drained = serializers.BooleanField(
        help_text="Whether it is drained and holds nothing any more."
    )
    builds = serializers.IntegerField(help_text="That hold its GPUs; they end by themselves.")
    replicas = OnNodeObject(many=True, help_text="What runs on it.")
    failed_starts = FailedOnNodeObject(many=True, help_text="Forgotten after an hour.")


@shown_as(
    {
        "id": "8arfsumz",
        "name": "gpu-host-3",
        "removed_at": "2026-11-27T16:40:02.117340Z",
        "held": ["replica w5n2k of support/deployment-3, lost"],
    }
)
class RemovedNodeObject(serializers.Serializer[Any]):
    id = serializers.CharField(help_text="The node.")
    name = serializers.CharField()
    removed_at = serializers.DateTimeField(help_text="When it was removed.")
    held = serializers.ListField(
        child=serializers.CharField(), help_text="What has ended with it, in words."
    )


@shown_as({"cleared": 2})
class ClearedFailedStartsObject(serializers.Serializer[Any]):
    cleared = serializers.IntegerField(help_text="Artifacts that had failed to start there.")


class NodeDetailView(FleetNodeDetailView):
    actions: ClassVar[Mapping[str, Action]] = {
        **FleetNodeDetailView.actions,
        "DELETE": Action.REMOVE_NODES,
    }

    @extend_schema(responses={200: RemovedNodeObject})
    def delete(self, request: Request, node_id: str) -> Response:
        """Remove a node that is silent or holds nothing: what it held is free at once."""
        node = self.node()
        lines = node_remove(node=node).lines
        body = {"id": node.id, "name": node.name, "removed_at": node.removed_at, "held": lines}
        return Response(RemovedNodeObject(body).data)


class NodeReplicasView(NodeView):
    @extend_schema(responses=NodeReplicasObject)
    def get(self, request: Request, node_id: str) -> Response:
        """Return what runs on a node and, while it is drained, what keeps it there."""
        node = self.node()
        replicas, builds = replicas_on(node, self.actor), builds_on(node)
        body = {
            "draining_since": node.draining_since,
            "is_drained": node.draining_since is not None and not replicas and not builds,
            "builds": builds,
            "replicas": replicas,
            "failed_starts": failed_on(node, self.actor),
        }
        return Response(NodeReplicasObject(body).data)


class NodeFailedStartsView(NodeView):
    actions: ClassVar[Mapping[str, Action]] = {"DELETE": Action.CORDON}

    @extend_schema(responses={200: ClearedFailedStartsObject})
    def delete(self, request: Request, node_id: str) -> Response:
        """Forget which starts failed on the node, as after it was mended."""
        cleared = failed_starts_clear(node=self.node())
        return Response(ClearedFailedStartsObject({"cleared": cleared}).data)
