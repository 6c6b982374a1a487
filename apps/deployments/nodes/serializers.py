from typing import Any

from rest_framework import serializers

from apps.deployments import examples
from apps.rest.examples import shown_as
from apps.rest.failure_object import FailureObject
from apps.rest.paging import Pagination
from controlplane.domain.lifecycle import ReplicaState

REPLICA_STATES = [state.value for state in ReplicaState]


class EjectionObject(serializers.Serializer[Any]):
    """A gateway that passes a replica over, until it answers again."""

    gateway = serializers.CharField(help_text="The gateway.")
    reason = serializers.CharField(
        help_text="Why, as `gateway_upstream_errors_total` counts it; `errors`: it answered five "
        "requests in a row with an error of its own."
    )


@shown_as(examples.REPLICA)
class ReplicaObject(serializers.Serializer[Any]):
    """A replica: what is wanted of it and what its node last said."""

    id = serializers.CharField()
    node = serializers.CharField(source="node.name", help_text="The node that it runs on.")
    state = serializers.ChoiceField(
        choices=REPLICA_STATES, help_text="Where it is; `ready` answers requests."
    )
    is_confirmed = serializers.BooleanField(
        help_text="False while its node has not said so for 9 seconds: `state` is the last known."
    )
    observed_at = serializers.DateTimeField(
        source="heard_at", allow_null=True, help_text="When its node last said how it stands."
    )
    ejected_by = EjectionObject(
        many=True, help_text="Gateways that send it no requests for a while, others answering."
    )
    wanted = serializers.ChoiceField(
        choices=["running", "stopped"], help_text="What its node works toward."
    )
    memory_bytes = serializers.IntegerField(
        help_text="GPU memory that it holds; host memory on a CPU."
    )
    placement = serializers.CharField(
        allow_blank=True, help_text="Why it was placed there, and which nodes were passed over."
    )
    ordered_at = serializers.DateTimeField(help_text="When it was ordered.")
    ready_at = serializers.DateTimeField(
        allow_null=True, help_text="When it could answer; null before."
    )
    finished_at = serializers.DateTimeField(allow_null=True)
    failure = FailureObject(allow_null=True, help_text="Why it failed; null where it did not.")


class ReplicaListObject(serializers.Serializer[Any]):
    replicas = ReplicaObject(many=True, help_text="Replicas, newest first.")
    pagination = Pagination()


@shown_as(examples.FAILED_STARTS)
class FailedStartsObject(serializers.Serializer[Any]):
    """Starts that failed in a row on a node; the next is made there after `retry_at`."""

    node = serializers.CharField(source="node.name", help_text="The node.")
    count = serializers.IntegerField(help_text="How many failed in a row.")
    first_at = serializers.DateTimeField(help_text="When the first of them failed.")
    last_at = serializers.DateTimeField(help_text="When the last of them failed.")
    retry_at = serializers.DateTimeField(help_text="When the next start is made there.")
    failure = FailureObject(allow_null=True, help_text="Why the last of them failed.")


class FailedStartsListObject(serializers.Serializer[Any]):
    failed_starts = FailedStartsObject(many=True, help_text="By node.")
