"""How a deployment is sized, and what becomes of requests beyond that, in the hosted shapes."""

from typing import Any

from rest_framework import serializers

from apps.deployments import examples
from apps.deployments.services.backpressure import POLICIES
from apps.rest.examples import shown_as

CHANGES = ["ACCEPTED", "QUEUED", "UNCHANGED"]


class AutoscalingObject(serializers.Serializer[Any]):
    min_replica = serializers.IntegerField(
        help_text="So many replicas run always; with 0 none runs without requests, which wake it."
    )
    max_replica = serializers.IntegerField(help_text="No more replicas than this.")
    autoscaling_window = serializers.IntegerField(
        allow_null=True, help_text="Seconds over which load is averaged."
    )
    scale_down_delay = serializers.IntegerField(
        allow_null=True, help_text="Seconds for which load must stay low before replicas end."
    )
    concurrency_target = serializers.IntegerField(
        help_text="Requests at once that one replica is meant to carry."
    )
    target_utilization_percentage = serializers.IntegerField(
        allow_null=True,
        help_text="Share of `concurrency_target`, in percent, above which a replica is added.",
    )
    target_in_flight_tokens = serializers.IntegerField(
        allow_null=True,
        help_text="Tokens at once that one replica is meant to carry; in place of the concurrency.",
    )
    max_scale_down_rate = serializers.IntegerField(
        allow_null=True, help_text="Share of the replicas, in percent, that may end at one time."
    )


@shown_as(examples.AUTOSCALING_ANSWER)
class AutoscalingAnswerObject(serializers.Serializer[Any]):
    status = serializers.ChoiceField(choices=CHANGES, help_text="Whether anything changed.")
    message = serializers.CharField(help_text="The same in words.")


@shown_as(examples.BACKPRESSURE)
class BackpressureObject(serializers.Serializer[Any]):
    policy = serializers.ChoiceField(
        choices=POLICIES,
        allow_null=True,
        help_text="What becomes of requests beyond `concurrency_target` on every replica: they "
        "wait for their turn, or are answered 429; null: replicas are sent all that comes.",
    )
