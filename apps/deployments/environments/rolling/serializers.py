"""Settings of rolling changes, and what happened, in the hosted product's shapes."""

from typing import Any

from rest_framework import serializers

from apps.deployments import examples
from apps.rest.examples import shown_as
from apps.rest.paging import Pagination
from apps.rest.serializers import StrictSerializer
from controlplane.domain.rolling.settings import (
    CANARY_LIMITS_PERCENT,
    LIMITS,
    RAMP_LIMITS_SECONDS,
)

ROLLING_DEFAULTS = {
    "rolling_deploy_strategy": "REPLICA",
    "max_surge_percent": 25,
    "max_unavailable_percent": 0,
    "max_surge_replicas": None,
    "max_unavailable_replicas": None,
    "stabilization_time_seconds": 0,
    "replica_overhead_percent": 0,
}


def _number(name: str, help_text: str, **more: Any) -> serializers.IntegerField:
    low, high = LIMITS[name]
    return serializers.IntegerField(
        required=False, min_value=low, max_value=high, help_text=help_text, **more
    )


class RollingDeployConfigBody(StrictSerializer):
    """How many replicas move at a time; exactly one of surge and unavailable is above 0."""

    rolling_deploy_strategy = serializers.ChoiceField(
        required=False, choices=["REPLICA"], help_text="Always by replicas."
    )
    max_surge_percent = _number(
        "max_surge_percent", "By how much both deployments may exceed what carries the traffic."
    )
    max_unavailable_percent = _number(
        "max_unavailable_percent", "How much of what carries the traffic may be missing meanwhile."
    )
    max_surge_replicas = _number(
        "max_surge_replicas", "The same in replicas, in place of the percent.", allow_null=True
    )
    max_unavailable_replicas = _number(
        "max_unavailable_replicas", "Likewise of those that may be missing.", allow_null=True
    )
    stabilization_time_seconds = _number(
        "stabilization_time_seconds", "How long each share of the traffic holds at least."
    )
    replica_overhead_percent = _number(
        "replica_overhead_percent", "So many more replicas than it replaces the candidate gets."
    )


def rolling_field() -> RollingDeployConfigBody:
    """Return the field of an environment's settings."""
    return RollingDeployConfigBody(
        required=False,
        allow_null=True,
        help_text="How traffic moves with `rolling_deploy`.",
    )


def ramp_seconds_field() -> serializers.IntegerField:
    """Return the field of an environment's settings."""
    low, high = RAMP_LIMITS_SECONDS
    return serializers.IntegerField(
        required=False, min_value=low, max_value=high,
        help_text="How long the ten stages of `ramp_up_while_promoting` take together.",
    )  # fmt: skip


def canary_field() -> serializers.IntegerField:
    """Return the field of an environment's settings."""
    low, high = CANARY_LIMITS_PERCENT
    return serializers.IntegerField(
        required=False, allow_null=True, min_value=low, max_value=high,
        help_text="Ours: at this share of the traffic it holds until it is resumed; null: nowhere.",
    )  # fmt: skip


@shown_as(examples.PROMOTION_EVENT)
class PromotionEventObject(serializers.Serializer[Any]):
    """One thing that happened while an environment moved to another deployment."""

    at = serializers.DateTimeField(help_text="When.")
    code = serializers.CharField(help_text="What, such as `share_raised`.")
    sentence = serializers.CharField(help_text="What and why, in words.")
    actor = serializers.CharField(help_text="Who asked for it; `Enginehouse`: nobody did.")
    candidate_id = serializers.CharField(help_text="The deployment that it moved to.")
    current_id = serializers.CharField(help_text="The deployment that was in place; may be empty.")
    percent_before = serializers.IntegerField(help_text="The candidate's share before.")
    percent_after = serializers.IntegerField(help_text="Its share since.")


class PromotionEventListObject(serializers.Serializer[Any]):
    events = PromotionEventObject(many=True, help_text="Events, newest first.")
    pagination = Pagination()
