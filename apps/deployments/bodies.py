"""What requests about models, deployments and environments may say.

Source of fields and ranges: the hosted product's management API, 2026-08-22.
"""

from rest_framework import serializers

from apps.deployments import examples
from apps.deployments.autoscaling.bodies import SchedulesBody
from apps.deployments.environments.promotion_settings import CLEANUPS
from apps.deployments.environments.rolling.answers.serializers import answer_guard_field
from apps.deployments.environments.rolling.serializers import (
    canary_field,
    guard_field,
    ramp_seconds_field,
    rolling_field,
)
from apps.deployments.services.backpressure import POLICIES
from apps.rest.examples import shown_as
from apps.rest.paging import ListQuery
from apps.rest.serializers import StrictSerializer
from apps.telemetry.log_queries import LogQuery


@shown_as(examples.AUTOSCALING_CHANGE)
class AutoscalingBody(StrictSerializer):
    """Every field optional; ranges as the hosted product documents them."""

    min_replica = serializers.IntegerField(
        required=False,
        min_value=0,
        max_value=1000,
        help_text="So many replicas run always; with 0 none runs without requests, which wake it.",
    )
    max_replica = serializers.IntegerField(
        required=False, min_value=1, max_value=1000, help_text="No more replicas than this."
    )
    autoscaling_window = serializers.IntegerField(
        required=False,
        min_value=10,
        max_value=3600,
        help_text="Seconds over which load is averaged.",
    )
    scale_down_delay = serializers.IntegerField(
        required=False,
        min_value=0,
        max_value=3600,
        help_text="Seconds for which load must stay low before replicas end.",
    )
    concurrency_target = serializers.IntegerField(
        required=False,
        min_value=1,
        help_text="Requests at once that one replica is meant to carry.",
    )
    target_utilization_percentage = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=100,
        help_text="Share of `concurrency_target`, in percent, above which a replica is added.",
    )
    target_in_flight_tokens = serializers.IntegerField(
        required=False,
        min_value=1,
        allow_null=True,
        help_text="Tokens at once that one replica is meant to carry; in place of the concurrency.",
    )
    max_scale_down_rate = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=50,
        help_text="Share of the replicas, in percent, that may end at one time.",
    )


@shown_as(examples.BACKPRESSURE)
class BackpressureBody(StrictSerializer):
    policy = serializers.ChoiceField(
        choices=POLICIES,
        allow_null=True,
        default=None,
        help_text="What becomes of requests beyond `concurrency_target` on every replica: they "
        "wait for their turn, or are answered 429; null: replicas are sent all that comes.",
    )


class BuildSourceBody(StrictSerializer):
    kind = serializers.ChoiceField(choices=["build"], help_text="Always `build`.")
    build_id = serializers.CharField(max_length=16, help_text="The build whose artifact to serve.")


@shown_as(examples.MODEL_WANTED)
class ModelCreateBody(StrictSerializer):
    name = serializers.CharField(
        max_length=128,
        help_text="What the team calls it; no other model of the team has that name.",
    )
    source = BuildSourceBody(help_text="What to serve.")  # type: ignore[assignment]


@shown_as(examples.DEPLOYMENT_WANTED)
class DeploymentCreateBody(StrictSerializer):
    source = BuildSourceBody(help_text="What to serve.")  # type: ignore[assignment]
    environment = serializers.CharField(
        required=False,
        max_length=64,
        help_text="Where to promote it once it is ready; nowhere when absent.",
    )
    name = serializers.CharField(
        required=False,
        max_length=255,
        help_text="Its name within the model; one is made up when absent.",
    )


@shown_as(examples.DEPLOYMENT_RENAMED)
class DeploymentRenameBody(StrictSerializer):
    name = serializers.CharField(max_length=255, help_text="The new name.")


class NameQuery(ListQuery):
    name = serializers.CharField(
        required=False, max_length=255, help_text="Only what has exactly this name."
    )


class PromotionSettingsBody(StrictSerializer):
    redeploy_on_promotion = serializers.BooleanField(
        required=False,
        help_text="Whether a promotion makes a new deployment of the same artifact.",
    )
    promotion_cleanup_strategy = serializers.ChoiceField(
        required=False,
        choices=CLEANUPS,
        help_text="What becomes of the deployment that was there before.",
    )
    rolling_deploy = serializers.BooleanField(
        required=False, help_text="Whether traffic moves replica by replica."
    )
    rolling_deploy_config = rolling_field()
    ramp_up_while_promoting = serializers.BooleanField(
        required=False, help_text="Whether traffic moves in ten stages by time."
    )
    ramp_up_duration_seconds = ramp_seconds_field()
    canary_percent = canary_field()
    canary_by_header = serializers.BooleanField(
        required=False,
        help_text="Ours: whether clients choose by `x-enginehouse-canary: always` or `never`.",
    )
    slo_guard = guard_field()
    answer_guard = answer_guard_field()


@shown_as(examples.ENVIRONMENT_WANTED)
class EnvironmentCreateBody(StrictSerializer):
    name = serializers.CharField(max_length=64, help_text="Its name within the model.")
    promotion_settings = PromotionSettingsBody(
        required=False, help_text="What happens when a deployment is promoted to it."
    )
    request_backpressure_settings = BackpressureBody(
        required=False,
        help_text="What becomes of requests beyond what replicas of what comes there carry.",
    )


@shown_as(examples.ENVIRONMENT_CHANGE)
class EnvironmentPatchBody(StrictSerializer):
    request_backpressure_settings = BackpressureBody(
        required=False, help_text="What becomes of requests beyond what replicas carry."
    )
    autoscaling_settings = AutoscalingBody(
        required=False, help_text="How many replicas of what it points at run."
    )
    autoscaling_schedule_settings = SchedulesBody(
        required=False, allow_null=True, help_text="When other numbers hold."
    )
    promotion_settings = PromotionSettingsBody(
        required=False, help_text="What happens when a deployment is promoted to it."
    )


@shown_as(examples.PROMOTE_TO_PRODUCTION)
class PromoteToProductionBody(StrictSerializer):
    scale_down_previous_production = serializers.BooleanField(
        default=True,
        help_text="Whether the deployment that was there before is ended as the environment says.",
    )
    preserve_env_instance_type = serializers.BooleanField(
        default=True,
        help_text="Read for the hosted product's clients; a deployment keeps its own hardware "
        "here.",
    )


@shown_as(examples.PROMOTE)
class PromoteBody(StrictSerializer):
    deployment_id = serializers.CharField(max_length=16, help_text="The deployment to promote.")
    scale_down_previous_deployment = serializers.BooleanField(
        default=True,
        help_text="Whether the deployment that was there before is ended as the environment says.",
    )
    preserve_env_instance_type = serializers.BooleanField(
        default=True,
        help_text="Read for the hosted product's clients; a deployment keeps its own hardware "
        "here.",
    )


class ConfigQuery(StrictSerializer):
    output_format = serializers.ChoiceField(
        choices=["raw", "parsed", "both"],
        default="both",
        help_text="Which of the two forms to answer.",
    )


class DeploymentLogQuery(LogQuery):
    replica = serializers.CharField(
        required=False, max_length=16, help_text="Only lines of this replica."
    )
