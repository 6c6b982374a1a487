"""What requests about models, deployments and environments may say.

Source of fields and ranges: the hosted product's management API, 2026-08-22.
"""

from rest_framework import serializers

from apps.deployments import examples
from apps.rest.examples import shown_as
from apps.rest.paging import ListQuery
from apps.rest.serializers import StrictSerializer
from apps.telemetry.log_queries import LogQuery


@shown_as(examples.AUTOSCALING_CHANGE)
class AutoscalingBody(StrictSerializer):
    """Every field optional; ranges as the hosted product documents them."""

    min_replica = serializers.IntegerField(required=False, min_value=0, max_value=1000)
    max_replica = serializers.IntegerField(required=False, min_value=1, max_value=1000)
    autoscaling_window = serializers.IntegerField(required=False, min_value=10, max_value=3600)
    scale_down_delay = serializers.IntegerField(required=False, min_value=0, max_value=3600)
    concurrency_target = serializers.IntegerField(required=False, min_value=1)
    target_utilization_percentage = serializers.IntegerField(
        required=False, min_value=1, max_value=100
    )
    target_in_flight_tokens = serializers.IntegerField(required=False, min_value=1, allow_null=True)
    max_scale_down_rate = serializers.IntegerField(required=False, min_value=1, max_value=50)


class BuildSourceBody(StrictSerializer):
    kind = serializers.ChoiceField(choices=["build"])
    build_id = serializers.CharField(max_length=16)


@shown_as(examples.MODEL_WANTED)
class ModelCreateBody(StrictSerializer):
    name = serializers.CharField(max_length=128)
    source = BuildSourceBody()  # type: ignore[assignment]


@shown_as(examples.DEPLOYMENT_WANTED)
class DeploymentCreateBody(StrictSerializer):
    source = BuildSourceBody()  # type: ignore[assignment]
    environment = serializers.CharField(required=False, max_length=64)
    name = serializers.CharField(required=False, max_length=255)


@shown_as(examples.DEPLOYMENT_RENAMED)
class DeploymentRenameBody(StrictSerializer):
    name = serializers.CharField(max_length=255)


class NameQuery(ListQuery):
    name = serializers.CharField(required=False, max_length=255)


class PromotionSettingsBody(StrictSerializer):
    redeploy_on_promotion = serializers.BooleanField(required=False)
    promotion_cleanup_strategy = serializers.ChoiceField(
        required=False, choices=["KEEP", "SCALE_TO_ZERO", "DEACTIVATE"]
    )


@shown_as(examples.ENVIRONMENT_WANTED)
class EnvironmentCreateBody(StrictSerializer):
    name = serializers.CharField(max_length=64)
    promotion_settings = PromotionSettingsBody(required=False)


@shown_as(examples.ENVIRONMENT_CHANGE)
class EnvironmentPatchBody(StrictSerializer):
    autoscaling_settings = AutoscalingBody(required=False)
    promotion_settings = PromotionSettingsBody(required=False)


@shown_as(examples.PROMOTE_TO_PRODUCTION)
class PromoteToProductionBody(StrictSerializer):
    scale_down_previous_production = serializers.BooleanField(default=True)
    preserve_env_instance_type = serializers.BooleanField(default=True)


@shown_as(examples.PROMOTE)
class PromoteBody(StrictSerializer):
    deployment_id = serializers.CharField(max_length=16)
    scale_down_previous_deployment = serializers.BooleanField(default=True)
    preserve_env_instance_type = serializers.BooleanField(default=True)


class ConfigQuery(StrictSerializer):
    output_format = serializers.ChoiceField(choices=["raw", "parsed", "both"], default="both")


class DeploymentLogQuery(LogQuery):
    replica = serializers.CharField(required=False, max_length=16)
