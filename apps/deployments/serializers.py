"""Models, deployments and environments in the hosted product's shapes.

Source: its management API, 2026-08-22. `build_id`, `failure` and the replicas are ours.
"""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.configs.config_bodies import ConfigFileField
from apps.deployments import examples
from apps.deployments.addresses import Address, environment_place, urls_of
from apps.deployments.autoscaling.settings_objects import AutoscalingObject, BackpressureObject
from apps.deployments.conditions import conditions_of
from apps.deployments.memory_need import instance_type_name
from apps.deployments.models import PRODUCTION, Deployment, Environment, ServedModel
from apps.deployments.selectors import DEGRADED
from apps.deployments.services.autoscaling import autoscaling_settings
from apps.deployments.services.backpressure import backpressure_settings
from apps.rest.examples import shown_as
from apps.rest.failure_object import FailureObject
from apps.rest.paging import Pagination
from apps.telemetry.log_queries import LogLineObject
from controlplane.domain.lifecycle import DeploymentState

STATUSES = [state.value.upper() for state in DeploymentState]


class UrlsObject(serializers.Serializer[Any]):
    """Where applications ask, at the gateway; none of it is an address of this API."""

    openai = serializers.CharField(help_text="What an OpenAI client takes as its base URL.")
    sync = serializers.CharField(
        help_text="Add a route of the engine to it, such as `/v1/chat/completions`."
    )
    predict = serializers.CharField(
        help_text="POST here what the model is asked, whatever it makes."
    )
    request = serializers.CharField(
        allow_null=True,
        help_text="`sync` with the route that the model is asked at: chat completions, embeddings, "
        "scores or labels; null while nothing is deployed there.",
    )


@shown_as(examples.MODEL)
class ModelObject(serializers.Serializer[Any]):
    id = serializers.CharField()
    created_at = serializers.DateTimeField()
    name = serializers.CharField(help_text="What the team calls it.")
    deployments_count = serializers.IntegerField(help_text="How many deployments it has.")
    production_deployment_id = serializers.SerializerMethodField(
        help_text="What the environment `production` points at; null while nothing."
    )
    development_deployment_id = serializers.SerializerMethodField(
        help_text="Always null: there are published deployments only."
    )
    instance_type_name = serializers.SerializerMethodField(
        help_text="What the deployment in production asks of a machine, such as `H100:2`."
    )
    team_name = serializers.CharField(source="team.name")
    urls = serializers.SerializerMethodField(
        help_text="Where its environment `production` is asked."
    )

    @extend_schema_field(UrlsObject)
    def get_urls(self, model: ServedModel) -> dict[str, str | None]:
        production = _production(model)
        current = production.current if production else None
        return urls_of(environment_place(model.id, PRODUCTION), current)

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
    models = ModelObject(many=True, help_text="Models, newest first.")
    pagination = Pagination()


class ConditionObject(serializers.Serializer[Any]):
    """Something that is so of a deployment beside its status, since when, and why."""

    type = serializers.ChoiceField(choices=[DEGRADED.upper()], help_text="What is so.")
    since = serializers.DateTimeField(help_text="Since when.")
    reason = serializers.CharField(help_text="A code of docs/failures.md.")
    message = serializers.CharField(help_text="Why, in words.")


@shown_as(examples.DEPLOYMENT)
class DeploymentObject(serializers.Serializer[Any]):
    id = serializers.CharField()
    created_at = serializers.DateTimeField()
    name = serializers.CharField(help_text="Its name within the model.")
    model_id = serializers.CharField(help_text="The model that it belongs to.")
    is_production = serializers.SerializerMethodField(
        help_text="Whether the environment `production` points at it."
    )
    is_development = serializers.SerializerMethodField(
        help_text="Always false: there are published deployments only."
    )
    status = serializers.SerializerMethodField(help_text="Where it is; `ACTIVE` answers requests.")
    is_confirmed = serializers.BooleanField(
        help_text="False while no node has said for 9 seconds that anything of it still runs: "
        "`status` is then what was known last."
    )
    active_replica_count = serializers.IntegerField(help_text="Replicas that can answer now.")
    autoscaling_settings = serializers.SerializerMethodField(
        help_text="How many replicas run; null while its build does."
    )
    instance_type_name = serializers.SerializerMethodField(
        help_text="What it asks of a machine, such as `H100:2`."
    )
    environment = serializers.SerializerMethodField(
        help_text="The environment that points at it; null where none does."
    )
    labels = serializers.SerializerMethodField(
        help_text="Always null: deployments have no labels here."
    )
    region = serializers.SerializerMethodField(help_text="Always null: there are no regions here.")
    request_backpressure_settings = serializers.SerializerMethodField(
        help_text="What becomes of requests beyond what replicas carry."
    )
    build_id = serializers.CharField(
        allow_null=True, help_text="The build that made its artifact; null where that is gone."
    )
    failure = FailureObject(
        allow_null=True,
        help_text="Why it does not answer, or not with all replicas; null where nothing is wrong.",
    )
    conditions = serializers.SerializerMethodField(
        help_text="What is so beside the status; `DEGRADED`: fewer replicas than wanted are ready."
    )

    urls = serializers.SerializerMethodField(
        help_text="Where this deployment is asked, whatever environment points at it."
    )

    @extend_schema_field(UrlsObject)
    def get_urls(self, deployment: Deployment) -> dict[str, str | None]:
        return urls_of(Address(deployment=deployment).place, deployment)

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
        return backpressure_settings(deployment.backpressure_policy)


class DeploymentListObject(serializers.Serializer[Any]):
    deployments = DeploymentObject(many=True, help_text="Deployments, newest first.")
    pagination = Pagination()


class ModelCreatedObject(serializers.Serializer[Any]):
    model = ModelObject(help_text="The new model.")
    deployment = DeploymentObject(help_text="Its first deployment.")


@shown_as(examples.SUCCESS)
class SuccessObject(serializers.Serializer[Any]):
    success = serializers.BooleanField(help_text="Always true.")


@shown_as(examples.RETRIED)
class RetriedObject(serializers.Serializer[Any]):
    retried = serializers.BooleanField(help_text="Whether anything was tried again.")
    reason = serializers.CharField(
        allow_null=True, help_text="Why nothing was; null where something was."
    )
    deployment = DeploymentObject(help_text="The deployment as it is now.")


@shown_as(examples.CANCELLED)
class CancelledObject(serializers.Serializer[Any]):
    status = serializers.ChoiceField(
        choices=["CANCELED", "RAMPING_DOWN"],
        help_text="`CANCELED`: it gets no requests; `RAMPING_DOWN`: it goes on with those it has.",
    )
    message = serializers.CharField(help_text="The same in words.")


@shown_as(examples.MODEL_TOMBSTONE)
class ModelTombstone(serializers.Serializer[Any]):
    id = serializers.CharField()
    deleted = serializers.BooleanField(help_text="Always true.")


@shown_as(examples.DEPLOYMENT_TOMBSTONE)
class DeploymentTombstone(ModelTombstone):
    model_id = serializers.CharField(help_text="The model that it belonged to.")


@shown_as(examples.DEPLOYMENT_CONFIG)
class DeploymentConfigObject(serializers.Serializer[Any]):
    raw_config = serializers.CharField(
        allow_null=True, help_text="The file as it was written; null where it was not asked for."
    )
    config = ConfigFileField(
        allow_null=True,
        help_text="The parsed file, defaults included; null where it was not asked for.",
    )


@shown_as(examples.LOG_LINE)
class DeploymentLogLineObject(LogLineObject):
    replica = serializers.CharField(help_text="The replica that wrote it.")


class DeploymentLogsObject(serializers.Serializer[Any]):
    logs = DeploymentLogLineObject(
        many=True, help_text="The lines, in the order that was asked for."
    )


def _production(model: ServedModel) -> Environment | None:
    return next((each for each in model.environments.all() if each.name == PRODUCTION), None)


def _places(deployment: Deployment) -> list[str]:
    names = [place.name for place in deployment.current_of.all()]
    return sorted(names, key=lambda name: (name != PRODUCTION, name))
