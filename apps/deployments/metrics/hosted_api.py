"""Metrics of models, deployments and environments over REST, in the hosted product's shape."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.rest_views import TeamView
from apps.deployments.metrics.hosted import DEFAULT, Mode, Scope, hosted_metrics
from apps.deployments.selectors import deployment_get, environment_get, model_get
from apps.rest.errors import InvalidInput
from apps.rest.examples import shown_as
from apps.rest.serializers import StrictSerializer, validated
from controlplane import clock

_LATEST_MILLIS = 10**14
_FIELDS = {"start": "start_epoch_millis", "end": "end_epoch_millis"}
_METRICS_EXAMPLE = {
    "start_epoch_millis": 1795737600000,
    "end_epoch_millis": 1795737660000,
    "mode": "CURRENT",
    "step_seconds": None,
    "metric_descriptors": [
        {
            "name": "replicas_active",
            "unit_hint": "COUNT",
            "kind": "GAUGE",
            "label_sets": [{}],
        }
    ],
    "metric_values": [{"start_epoch_millis": 1795737600000, "values": [[2.0]]}],
}


class MetricsQuery(StrictSerializer):
    mode = serializers.ChoiceField(
        choices=[each.value for each in Mode],
        default=Mode.CURRENT.value,
        help_text="The latest minute, all of the range, or each step of it.",
    )
    start_epoch_millis = serializers.IntegerField(
        required=False,
        min_value=0,
        max_value=_LATEST_MILLIS,
        help_text="From when on; an hour before the end without it.",
    )
    end_epoch_millis = serializers.IntegerField(
        required=False,
        min_value=0,
        max_value=_LATEST_MILLIS,
        help_text="Until when; now without it.",
    )
    metrics = serializers.ListField(
        child=serializers.CharField(max_length=64),
        required=False,
        max_length=32,
        help_text=f"Names, with or without `baseten_`; {', '.join(DEFAULT)} without any.",
    )


class DescriptorObject(serializers.Serializer[Any]):
    name = serializers.CharField(help_text="As it was asked for.")
    unit_hint = serializers.CharField(
        help_text="`PER_SECOND`, `SECONDS`, `MEBIBYTES`, `COUNT` or `RATIO`."
    )
    kind = serializers.CharField(help_text="`GAUGE`, `COUNTER` or `HISTOGRAM`.")
    label_sets = serializers.ListField(
        child=serializers.DictField(child=serializers.CharField()),
        help_text="What each value is of, in the order of the values.",
    )


class ValueSetObject(serializers.Serializer[Any]):
    start_epoch_millis = serializers.IntegerField(help_text="Where the step begins.")
    values = serializers.ListField(
        child=serializers.ListField(child=serializers.FloatField(allow_null=True)),
        help_text="For each metric a value for each label set; null where nothing was measured.",
    )


@shown_as(_METRICS_EXAMPLE)
class MetricsObject(serializers.Serializer[Any]):
    start_epoch_millis = serializers.IntegerField(help_text="From when on.")
    end_epoch_millis = serializers.IntegerField(help_text="Until when.")
    mode = serializers.CharField(help_text="As asked for.")
    step_seconds = serializers.IntegerField(allow_null=True, help_text="Of `SERIES`.")
    metric_descriptors = DescriptorObject(many=True, help_text="Each metric.")
    metric_values = ValueSetObject(many=True, help_text="One, or one for each step.")


class _MetricsView(TeamView):
    def metrics(self, **filters: str) -> Response:
        """Return the answer for what these labels name. Raises InvalidInput."""
        given = self.query()
        if names := self.request.query_params.getlist("metrics"):
            given["metrics"] = names
        query = validated(MetricsQuery, given)
        with _named_as_asked():
            answer = hosted_metrics(
                scope=Scope(team_id=self.team.id, filters=filters),
                mode=Mode(query["mode"]),
                names=query.get("metrics", ()),
                start=_moment(query.get("start_epoch_millis")),
                end=_moment(query.get("end_epoch_millis")),
                now=clock.now(),
            )
        return Response(MetricsObject(answer).data)


@contextmanager
def _named_as_asked() -> Iterator[None]:
    """Have a refusal name the fields as this form has them."""
    try:
        yield
    except InvalidInput as error:
        error.fields = tuple(_FIELDS.get(each, each) for each in error.fields)
        raise


class ModelMetricsView(_MetricsView):
    @extend_schema(parameters=[MetricsQuery], responses=MetricsObject)
    def get(self, request: Request, **path: str) -> Response:
        """Return metrics of all deployments of a model together."""
        model = model_get(team=self.team, model_id=self.kwargs["model_id"])
        return self.metrics(model_id=model.id)


class DeploymentMetricsView(_MetricsView):
    @extend_schema(parameters=[MetricsQuery], responses=MetricsObject)
    def get(self, request: Request, **path: str) -> Response:
        """Return metrics of a deployment."""
        deployment = deployment_get(
            team=self.team,
            model_id=self.kwargs["model_id"],
            deployment_id=self.kwargs["deployment_id"],
        )
        return self.metrics(model_id=deployment.model_id, deployment_id=deployment.id)


class EnvironmentMetricsView(_MetricsView):
    @extend_schema(parameters=[MetricsQuery], responses=MetricsObject)
    def get(self, request: Request, **path: str) -> Response:
        """Return metrics of an environment: its requests, and the engines that serve it now."""
        environment = environment_get(
            team=self.team, model_id=self.kwargs["model_id"], name=self.kwargs["name"]
        )
        if environment.current_id is None:
            raise InvalidInput(
                f"Nothing is deployed to `{environment.name}` yet.", fields=["env_name"]
            )
        return self.metrics(
            model_id=environment.model_id,
            environment=environment.name,
            deployment_id=environment.current_id,
        )


def _moment(millis: int | None) -> datetime | None:
    return None if millis is None else datetime.fromtimestamp(millis / 1000, UTC)
