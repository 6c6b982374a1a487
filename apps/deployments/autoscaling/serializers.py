from typing import Any

from rest_framework import serializers

from apps.deployments import examples
from apps.deployments.autoscaling.bodies import ScheduleBody
from apps.deployments.autoscaling.settings_objects import AutoscalingObject
from apps.rest.examples import shown_as
from apps.rest.paging import Pagination
from apps.rest.stored_json import as_stored
from controlplane.domain.scaling.reasons import ReasonCode


@shown_as(examples.SCALING_DECISION)
class ScalingDecisionObject(serializers.Serializer[Any]):
    """A size that was changed, or kept for a reason worth knowing."""

    at = serializers.DateTimeField(help_text="When it was decided.")
    code = serializers.ChoiceField(
        choices=[each.value for each in ReasonCode], help_text="The reason."
    )
    sentence = serializers.CharField(help_text="The reason in words, with its numbers.")
    before = serializers.IntegerField(help_text="Replicas that were wanted before.")
    after = serializers.IntegerField(help_text="Replicas that are wanted since.")
    by_load = serializers.IntegerField(
        help_text="What the formula says of the load, whatever the least and the most."
    )
    requests = serializers.FloatField(
        help_text="Requests in flight, on average over the window, at all gateways."
    )
    tokens = serializers.FloatField(help_text="Tokens in flight, likewise; estimated by gateways.")


@shown_as(examples.SCALING_STANDING)
class ScalingStandingObject(serializers.Serializer[Any]):
    """What a decision would say now."""

    code = serializers.CharField(source="decision.reason.code", help_text="The reason.")
    sentence = serializers.CharField(source="decision.reason.sentence", help_text="It in words.")
    by_load = serializers.IntegerField(
        source="decision.by_load", help_text="What the formula says of the load."
    )
    held = serializers.IntegerField(
        source="signal.held", help_text="Requests that wait for a replica."
    )
    next_at = serializers.DateTimeField(
        allow_null=True, help_text="When replicas end if the load stays as low; null: not planned."
    )


class ScheduleStateObject(serializers.Serializer[Any]):
    schedule_id = serializers.CharField(
        allow_null=True, help_text="Whose settings hold now; null: the usual ones do."
    )
    autoscaling_settings = AutoscalingObject(help_text="The settings that hold now.")


@shown_as(examples.SCHEDULES)
class SchedulesObject(serializers.Serializer[Any]):
    timezone = serializers.CharField(allow_null=True, help_text="Of all schedules.")
    schedules = as_stored(ScheduleBody(many=True), "As they were stored, each with its id.")
    applied_state = ScheduleStateObject(
        allow_null=True, help_text="What holds now; null while it points at nothing."
    )


class ScalingDecisionListObject(serializers.Serializer[Any]):
    now = ScalingStandingObject(
        allow_null=True, help_text="Null where it is not sized by its load in its state."
    )
    decisions = ScalingDecisionObject(many=True, help_text="Newest first, of the last 30 days.")
    pagination = Pagination()
