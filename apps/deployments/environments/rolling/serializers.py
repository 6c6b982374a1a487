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
from controlplane.domain.rolling.slo_guard import LIMITS as GUARD_LIMITS
from controlplane.domain.rolling.slo_guard import GuardAction


def _number(name: str, help_text: str, **more: Any) -> serializers.IntegerField:
    low, high = LIMITS[name]
    return serializers.IntegerField(
        required=False, min_value=low, max_value=high, help_text=help_text, **more
    )


def _guard_number(name: str, help_text: str) -> serializers.IntegerField:
    low, high = GUARD_LIMITS[name]
    return serializers.IntegerField(
        required=False, min_value=low, max_value=high, help_text=help_text
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
    return RollingDeployConfigBody(
        required=False,
        allow_null=True,
        help_text="How traffic moves with `rolling_deploy`.",
    )


def ramp_seconds_field() -> serializers.IntegerField:
    low, high = RAMP_LIMITS_SECONDS
    return serializers.IntegerField(
        required=False, min_value=low, max_value=high,
        help_text="How long the ten stages of `ramp_up_while_promoting` take together.",
    )  # fmt: skip


def canary_field() -> serializers.IntegerField:
    low, high = CANARY_LIMITS_PERCENT
    return serializers.IntegerField(
        required=False, allow_null=True, min_value=low, max_value=high,
        help_text="Ours: at this share of the traffic it holds until it is resumed; null: nowhere.",
    )  # fmt: skip


class SloGuardBody(StrictSerializer):
    """Compares the candidate with what is in place, by their single requests at each share."""

    action = serializers.ChoiceField(
        required=False,
        choices=[each.value for each in GuardAction],
        help_text="What becomes of a roll to a candidate that serves worse.",
    )
    min_requests = _guard_number("min_requests", "Of each of the two before anything is said.")
    error_margin_percent = _guard_number(
        "error_margin_percent", "By so much more may fail, in percent of the requests."
    )
    slower_percent = _guard_number(
        "slower_percent", "By so much may its first token and inter-token p90 be slower."
    )


def guard_field() -> SloGuardBody:
    return SloGuardBody(
        required=False,
        allow_null=True,
        help_text="Ours: a guard that pauses or returns a roll by itself; null: none.",
    )


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
