"""Models, deployments and environments in the hosted product's shapes.

Source: its management API, 2026-08-22. `build_id`, `failure` and the replicas are ours.
"""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.deployments import examples
from apps.deployments.conditions import conditions_of
from apps.deployments.memory_need import instance_type_name
from apps.deployments.models import PRODUCTION, Deployment, Environment, ServedModel
from apps.deployments.selectors import DEGRADED
from apps.deployments.services.autoscaling import autoscaling_settings
from apps.deployments.services.promotion import promotion_settings
from apps.rest.examples import shown_as
from apps.rest.paging import Pagination
from apps.telemetry.log_queries import LogLineObject
from controlplane.domain.lifecycle import DeploymentState

STATUSES = [state.value.upper() for state in DeploymentState]


class AutoscalingObject(serializers.Serializer[Any]):
    min_replica = serializers.IntegerField()
    max_replica = serializers.IntegerField()
    autoscaling_window = serializers.IntegerField(allow_null=True)
    scale_down_delay = serializers.IntegerField(allow_null=True)
    concurrency_target = serializers.IntegerField()
    target_utilization_percentage = serializers.IntegerField(allow_null=True)
    target_in_flight_tokens = serializers.IntegerField(allow_null=True)
    max_scale_down_rate = serializers.IntegerField(allow_null=True)


@shown_as(examples.AUTOSCALING_ANSWER)
class AutoscalingAnswerObject(serializers.Serializer[Any]):
    status = serializers.ChoiceField(choices=["ACCEPTED", "QUEUED", "UNCHANGED"])
    message = serializers.CharField()


class BackpressureObject(serializers.Serializer[Any]):
    policy = serializers.CharField(allow_null=True)


@shown_as(examples.MODEL)
class ModelObject(serializers.Serializer[Any]):
    id = serializers.CharField()
    created_at = serializers.DateTimeField()
    name = serializers.CharField()
    deployments_count = serializers.IntegerField()
    production_deployment_id = serializers.SerializerMethodField()
    development_deployment_id = serializers.SerializerMethodField()
    instance_type_name = serializers.SerializerMethodField()
    team_name = serializers.CharField(source="team.name")

    def get_production_deployment_id(self, model: ServedModel) -> str | None:
        production = _production(model)
        return production.current_id if production else None

    def get_development_deployment_id(self, model: ServedModel) -> str | None:
        return None  # this server has published deployments only

    def get_instance_type_name(self, model: ServedModel) -> str | None:
        production = _production(model)
        current = production.current if production else None
        return instance_type_name(current) if current else None


class ModelListObject(serializers.Serializer[Any]):
    models = ModelObject(many=True)
    pagination = Pagination()


class ConditionObject(serializers.Serializer[Any]):
    """Something that is so of a deployment beside its status, since when, and why."""

    type = serializers.ChoiceField(choices=[DEGRADED.upper()])
    since = serializers.DateTimeField()
    reason = serializers.CharField(help_text="A code of docs/failures.md.")
    message = serializers.CharField()


@shown_as(examples.DEPLOYMENT)
class DeploymentObject(serializers.Serializer[Any]):
    id = serializers.CharField()
    created_at = serializers.DateTimeField()
    name = serializers.CharField()
    model_id = serializers.CharField()
    is_production = serializers.SerializerMethodField()
    is_development = serializers.SerializerMethodField()
    status = serializers.SerializerMethodField()
    is_confirmed = serializers.BooleanField(
        help_text="False while no node has said for 9 seconds that anything of it still runs: "
        "`status` is then what was known last."
    )
    active_replica_count = serializers.IntegerField()
    autoscaling_settings = serializers.SerializerMethodField()
    instance_type_name = serializers.SerializerMethodField()
    environment = serializers.SerializerMethodField()
    labels = serializers.SerializerMethodField()
    region = serializers.SerializerMethodField()
    request_backpressure_settings = serializers.SerializerMethodField()
    build_id = serializers.CharField(allow_null=True)
    failure = serializers.DictField(allow_null=True)
    conditions = serializers.SerializerMethodField(
        help_text="What is so beside the status; `DEGRADED`: fewer replicas than wanted are ready."
    )

    def get_is_production(self, deployment: Deployment) -> bool:
        return PRODUCTION in _places(deployment)

    def get_is_development(self, deployment: Deployment) -> bool:
        return False

    @extend_schema_field(serializers.ChoiceField(choices=STATUSES))
    def get_status(self, deployment: Deployment) -> str:
        return deployment.state.upper()

    @extend_schema_field(AutoscalingObject(allow_null=True))
    def get_autoscaling_settings(self, deployment: Deployment) -> dict[str, Any] | None:
        is_deployed = deployment.state != DeploymentState.BUILDING
        return autoscaling_settings(deployment) if is_deployed else None

    @extend_schema_field(ConditionObject(many=True))
    def get_conditions(self, deployment: Deployment) -> list[dict[str, Any]]:
        return conditions_of(deployment)

    def get_instance_type_name(self, deployment: Deployment) -> str | None:
        return instance_type_name(deployment)

    def get_environment(self, deployment: Deployment) -> str | None:
        return next(iter(_places(deployment)), None)

    @extend_schema_field(serializers.DictField(allow_null=True))
    def get_labels(self, deployment: Deployment) -> None:
        return None

    def get_region(self, deployment: Deployment) -> str | None:
        return None

    @extend_schema_field(BackpressureObject)
    def get_request_backpressure_settings(self, deployment: Deployment) -> dict[str, Any]:
        return {"policy": None}


class DeploymentListObject(serializers.Serializer[Any]):
    deployments = DeploymentObject(many=True)
    pagination = Pagination()


class ModelCreatedObject(serializers.Serializer[Any]):
    model = ModelObject()
    deployment = DeploymentObject()


class PromotionObject(serializers.Serializer[Any]):
    status = serializers.CharField()
    percent_traffic_to_new_version = serializers.IntegerField()
    error_message = serializers.CharField(allow_null=True)
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
    name = serializers.CharField()
    created_at = serializers.DateTimeField()
    model_id = serializers.CharField()
    current_deployment = DeploymentObject(source="current", allow_null=True)
    candidate_deployment = DeploymentObject(source="candidate", allow_null=True)
    in_progress_promotion = PromotionObject(source="promotion", allow_null=True)
    autoscaling_settings = serializers.SerializerMethodField()
    promotion_settings = serializers.SerializerMethodField()
    instance_type = serializers.SerializerMethodField()
    request_backpressure_settings = serializers.SerializerMethodField()

    @extend_schema_field(AutoscalingObject(allow_null=True))
    def get_autoscaling_settings(self, environment: Environment) -> dict[str, Any] | None:
        current = environment.current
        return autoscaling_settings(current) if current else None

    @extend_schema_field(serializers.DictField())
    def get_promotion_settings(self, environment: Environment) -> dict[str, Any]:
        return promotion_settings(environment)

    @extend_schema_field(serializers.DictField(allow_null=True))
    def get_instance_type(self, environment: Environment) -> dict[str, str] | None:
        current = environment.current
        return {"name": instance_type_name(current)} if current else None

    @extend_schema_field(BackpressureObject)
    def get_request_backpressure_settings(self, environment: Environment) -> dict[str, Any]:
        return {"policy": None}


class EnvironmentListObject(serializers.Serializer[Any]):
    environments = EnvironmentObject(many=True)
    pagination = Pagination()


@shown_as(examples.ENVIRONMENT_PATCHED)
class EnvironmentPatchedObject(serializers.Serializer[Any]):
    environment = EnvironmentObject()
    status = serializers.CharField()
    message = serializers.CharField()


@shown_as(examples.SUCCESS)
class SuccessObject(serializers.Serializer[Any]):
    success = serializers.BooleanField()


@shown_as(examples.RETRIED)
class RetriedObject(serializers.Serializer[Any]):
    retried = serializers.BooleanField()
    reason = serializers.CharField(allow_null=True)
    deployment = DeploymentObject()


@shown_as(examples.CANCELLED)
class CancelledObject(serializers.Serializer[Any]):
    status = serializers.ChoiceField(choices=["CANCELED", "RAMPING_DOWN"])
    message = serializers.CharField()


@shown_as(examples.MODEL_TOMBSTONE)
class ModelTombstone(serializers.Serializer[Any]):
    id = serializers.CharField()
    deleted = serializers.BooleanField()


@shown_as(examples.DEPLOYMENT_TOMBSTONE)
class DeploymentTombstone(ModelTombstone):
    model_id = serializers.CharField()


@shown_as(examples.DEPLOYMENT_CONFIG)
class DeploymentConfigObject(serializers.Serializer[Any]):
    raw_config = serializers.CharField(allow_null=True)
    config = serializers.DictField(allow_null=True)


@shown_as(examples.LOG_LINE)
class DeploymentLogLineObject(LogLineObject):
    replica = serializers.CharField()


class DeploymentLogsObject(serializers.Serializer[Any]):
    logs = DeploymentLogLineObject(many=True)


@shown_as(examples.REPLICA)
class ReplicaObject(serializers.Serializer[Any]):
    """A replica: what is wanted of it and what its node last said."""

    id = serializers.CharField()
    node = serializers.CharField(source="node.name")
    state = serializers.CharField()
    is_confirmed = serializers.BooleanField(
        help_text="False while its node has not said so for 9 seconds: `state` is the last known."
    )
    observed_at = serializers.DateTimeField(
        source="heard_at", allow_null=True, help_text="When its node last said how it stands."
    )
    wanted = serializers.CharField()
    memory_bytes = serializers.IntegerField()
    placement = serializers.CharField(
        allow_blank=True, help_text="Why it was placed there, and which nodes were passed over."
    )
    ordered_at = serializers.DateTimeField()
    ready_at = serializers.DateTimeField(allow_null=True)
    finished_at = serializers.DateTimeField(allow_null=True)
    failure = serializers.DictField(allow_null=True)


class ReplicaListObject(serializers.Serializer[Any]):
    replicas = ReplicaObject(many=True)
    pagination = Pagination()


@shown_as(examples.FAILED_STARTS)
class FailedStartsObject(serializers.Serializer[Any]):
    """Starts that failed in a row on a node; the next is made there after `retry_at`."""

    node = serializers.CharField(source="node.name")
    count = serializers.IntegerField()
    first_at = serializers.DateTimeField()
    last_at = serializers.DateTimeField()
    retry_at = serializers.DateTimeField()
    failure = serializers.DictField(allow_null=True)


class FailedStartsListObject(serializers.Serializer[Any]):
    failed_starts = FailedStartsObject(many=True)


def _production(model: ServedModel) -> Environment | None:
    return next((each for each in model.environments.all() if each.name == PRODUCTION), None)


def _places(deployment: Deployment) -> list[str]:
    names = [place.name for place in deployment.current_of.all()]
    return sorted(names, key=lambda name: (name != PRODUCTION, name))
