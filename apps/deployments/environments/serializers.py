"""Environments and promotions in the hosted product's shapes."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.deployments import examples
from apps.deployments.addresses import environment_place, urls_of
from apps.deployments.autoscaling.schedules import schedules_shown
from apps.deployments.autoscaling.serializers import SchedulesObject
from apps.deployments.autoscaling.settings_objects import (
    CHANGES,
    AutoscalingObject,
    BackpressureObject,
)
from apps.deployments.environments.promotion_settings import CLEANUPS, promotion_settings
from apps.deployments.environments.rolling.answers.serializers import AnswerGuardObject
from apps.deployments.environments.rolling.serializers import RollingDeployConfigBody, SloGuardBody
from apps.deployments.memory_need import instance_type_name
from apps.deployments.models import Environment
from apps.deployments.serializers import (
    DeploymentObject,
    UrlsObject,
)
from apps.deployments.services.autoscaling import autoscaling_settings
from apps.deployments.services.backpressure import backpressure_settings
from apps.rest.examples import shown_as
from apps.rest.paging import Pagination
from controlplane import clock
from controlplane.domain.rolling.roll import Status


class PromotionSettingsObject(serializers.Serializer[Any]):
    """What happens when a deployment is promoted to an environment."""

    redeploy_on_promotion = serializers.BooleanField(
        help_text="Whether a promotion makes a new deployment of the same artifact."
    )
    promotion_cleanup_strategy = serializers.ChoiceField(
        choices=CLEANUPS, help_text="What becomes of the deployment that was there before."
    )
    rolling_deploy = serializers.BooleanField(
        help_text="Whether traffic moves replica by replica; else at once, when enough are ready."
    )
    rolling_deploy_config = RollingDeployConfigBody(
        allow_null=True, help_text="How many move at a time; null: as the defaults say."
    )
    ramp_up_while_promoting = serializers.BooleanField(
        help_text="Whether traffic moves in ten stages by time; `rolling_deploy` goes before."
    )
    ramp_up_duration_seconds = serializers.IntegerField(help_text="How long those take together.")
    canary_percent = serializers.IntegerField(
        allow_null=True, help_text="Ours: it holds at this share until it is resumed."
    )
    canary_by_header = serializers.BooleanField(
        help_text="Ours: whether clients choose by `x-enginehouse-canary: always` or `never`."
    )
    slo_guard = SloGuardBody(
        allow_null=True, help_text="Ours: what pauses or returns a roll by itself; null: nothing."
    )
    answer_guard = AnswerGuardObject(
        allow_null=True,
        help_text="Ours: prompts that both are asked before any traffic moves; null: none.",
    )


class InstanceNameObject(serializers.Serializer[Any]):
    """What a deployment asks of a machine."""

    name = serializers.CharField(allow_null=True, help_text="Such as `H100:2`.")


class PromotionObject(serializers.Serializer[Any]):
    """How far a promotion is; it is gone once every gateway has it."""

    status = serializers.ChoiceField(
        choices=[each.value for each in Status], help_text="How it stands."
    )
    percent_traffic_to_new_version = serializers.IntegerField(
        help_text="Share of the requests that the candidate gets, in percent."
    )
    error_message = serializers.CharField(
        allow_null=True, help_text="Why it failed; null where it did not."
    )
    rolling_deploy = serializers.BooleanField(
        allow_null=True, default=None, help_text="Whether it moves in steps."
    )
    ready_replicas = serializers.IntegerField(
        allow_null=True, default=None, help_text="Of the candidate, while it is waited for."
    )
    needed_replicas = serializers.IntegerField(
        allow_null=True, default=None, help_text="So many must be ready before it takes over."
    )
    waits_for = serializers.CharField(
        allow_null=True, default=None, help_text="The same in a sentence, with the rule."
    )
    gives_up_at = serializers.DateTimeField(
        allow_null=True, default=None, help_text="When it fails unless one more becomes ready."
    )


@shown_as(examples.ENVIRONMENT)
class EnvironmentObject(serializers.Serializer[Any]):
    name = serializers.CharField(help_text="Its name within the model, such as `production`.")
    created_at = serializers.DateTimeField()
    model_id = serializers.CharField(help_text="The model that it belongs to.")
    current_deployment = DeploymentObject(
        source="current", allow_null=True, help_text="What it points at; null while nothing."
    )
    candidate_deployment = DeploymentObject(
        source="candidate", allow_null=True, help_text="What it is rolling to; null while nothing."
    )
    in_progress_promotion = PromotionObject(
        source="promotion",
        allow_null=True,
        help_text="How far that is; null where nothing is promoted.",
    )
    autoscaling_settings = serializers.SerializerMethodField(
        help_text="Of what it points at; null while nothing."
    )
    autoscaling_schedules = serializers.SerializerMethodField(
        help_text="When other numbers hold, and which do now; null without any."
    )
    promotion_settings = serializers.SerializerMethodField(
        help_text="What happens when a deployment is promoted to it."
    )
    instance_type = serializers.SerializerMethodField(
        help_text="What it points at asks of a machine; null while nothing."
    )
    request_backpressure_settings = serializers.SerializerMethodField(
        help_text="What becomes of requests beyond what replicas of what it points at carry."
    )

    @extend_schema_field(AutoscalingObject(allow_null=True))
    def get_autoscaling_settings(self, environment: Environment) -> dict[str, Any] | None:
        current = environment.current
        return autoscaling_settings(current) if current else None

    @extend_schema_field(SchedulesObject(allow_null=True))
    def get_autoscaling_schedules(self, environment: Environment) -> dict[str, Any] | None:
        return schedules_shown(environment, now=clock.now())

    urls = serializers.SerializerMethodField(help_text="Where it is asked.")

    @extend_schema_field(UrlsObject)
    def get_urls(self, environment: Environment) -> dict[str, str | None]:
        return urls_of(
            environment_place(environment.model_id, environment.name), environment.current
        )

    @extend_schema_field(PromotionSettingsObject)
    def get_promotion_settings(self, environment: Environment) -> dict[str, Any]:
        settings = promotion_settings(environment)
        guard = settings["answer_guard"]
        # Prompts may be many, and an address of their own has them.
        return {**settings, "answer_guard": guard and AnswerGuardObject(guard).data}

    @extend_schema_field(InstanceNameObject(allow_null=True))
    def get_instance_type(self, environment: Environment) -> dict[str, str] | None:
        current = environment.current
        return {"name": instance_type_name(current)} if current else None

    @extend_schema_field(BackpressureObject)
    def get_request_backpressure_settings(self, environment: Environment) -> dict[str, Any]:
        current = environment.current
        policy = current.backpressure_policy if current else environment.backpressure_policy
        return backpressure_settings(policy)


class EnvironmentListObject(serializers.Serializer[Any]):
    environments = EnvironmentObject(many=True, help_text="Environments, production first.")
    pagination = Pagination()


@shown_as(examples.ENVIRONMENT_PATCHED)
class EnvironmentPatchedObject(serializers.Serializer[Any]):
    environment = EnvironmentObject(help_text="The environment as it is now.")
    status = serializers.ChoiceField(choices=CHANGES, help_text="Whether anything changed.")
    message = serializers.CharField(help_text="The same in words.")
