"""Builds, steps and artifacts as JSON."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.builds import examples
from apps.builds.fixes import fix_followers, fix_origin
from apps.builds.forecast_objects import ForecastObject, MeasuredObject, OutcomeObject, ReuseObject
from apps.builds.forecast_panel import forecast_panel
from apps.builds.held_devices import held_devices
from apps.builds.models import Artifact, Build, BuildStep
from apps.rest.examples import shown_as
from apps.rest.paging import PageQuery, page_schema
from apps.rest.serializers import StrictSerializer
from apps.telemetry.log_queries import LogLineObject, LogQuery
from controlplane.domain.failures import Blame
from controlplane.domain.lifecycle import BuildState, StepState

_STATES = [state.value for state in BuildState]


@shown_as(examples.BUILD_WANTED)
class BuildCreateBody(StrictSerializer):
    config_id = serializers.CharField(max_length=16)
    revision = serializers.IntegerField(
        required=False, min_value=1, help_text="Number of the revision; the last one when absent."
    )


@shown_as(examples.PROMOTE_REASON)
class BuildPromoteBody(StrictSerializer):
    reason = serializers.CharField(
        max_length=1_000, help_text="Why the loss is acceptable; kept on the build and passport."
    )


class BuildQuery(PageQuery):
    state = serializers.ChoiceField(choices=_STATES, required=False)
    config_id = serializers.CharField(required=False, max_length=16)


class BuildFailureObject(serializers.Serializer[Any]):
    """Why a build ended: whose fault, what happened, what to change."""

    code = serializers.CharField()
    blame = serializers.ChoiceField(choices=[each.value for each in Blame])
    sentence = serializers.CharField()
    field = serializers.CharField(allow_null=True)
    hint = serializers.CharField(allow_null=True)
    fix = serializers.DictField(allow_null=True, help_text="Dotted path to value; null removes.")
    detail = serializers.CharField(allow_null=True)


class BuildPromotionObject(serializers.Serializer[Any]):
    """Who accepted what the quality gate found, and why."""

    accepted = serializers.CharField()
    by = serializers.EmailField(allow_null=True)
    at = serializers.DateTimeField()
    reason = serializers.CharField()


class BuildConfigObject(serializers.Serializer[Any]):
    """What a build was made from."""

    id = serializers.CharField(source="config_id")
    name = serializers.CharField(source="config.name")
    revision = serializers.IntegerField(source="number")


@shown_as(examples.BUILD)
class BuildObject(serializers.Serializer[Build]):
    """A build in a list."""

    id = serializers.CharField()
    number = serializers.IntegerField()
    state = serializers.ChoiceField(choices=_STATES)
    attempt = serializers.IntegerField()
    config = BuildConfigObject(source="revision")
    pool = serializers.CharField()
    runtime = serializers.CharField(
        allow_blank=True,
        help_text="What serves it, chosen when it was made where the config says `auto`.",
    )
    created_at = serializers.DateTimeField()
    created_by = serializers.EmailField(source="created_by.email", allow_null=True, default=None)
    started_at = serializers.DateTimeField(allow_null=True)
    finished_at = serializers.DateTimeField(allow_null=True)
    cancel_requested_at = serializers.DateTimeField(allow_null=True)
    artifact_id = serializers.CharField(allow_null=True)
    failure = BuildFailureObject(allow_null=True)


class StepProgressObject(serializers.Serializer[Any]):
    done = serializers.IntegerField(source="progress_done")
    total = serializers.IntegerField(source="progress_total", allow_null=True)
    unit = serializers.CharField(source="progress_unit", allow_blank=True)
    seconds_left = serializers.FloatField(source="progress_seconds_left", allow_null=True)


@shown_as(examples.STEP)
class StepObject(serializers.Serializer[BuildStep]):
    """A step of the present attempt; `result` is what it found."""

    name = serializers.CharField()
    state = serializers.ChoiceField(choices=[state.value for state in StepState])
    progress = StepProgressObject(source="*")
    started_at = serializers.DateTimeField(allow_null=True)
    finished_at = serializers.DateTimeField(allow_null=True)
    waits_for = serializers.CharField(
        allow_blank=True, help_text="Why its work has not begun: who holds what it needs."
    )
    result = serializers.DictField(allow_null=True)
    measured = MeasuredObject(allow_null=True)


class StepListObject(serializers.Serializer[Any]):
    steps = StepObject(many=True)


class BuildOriginObject(serializers.Serializer[Any]):
    """The failed build whose fix a build was made with."""

    id = serializers.CharField(source="build.id")
    number = serializers.IntegerField(source="build.number")
    code = serializers.CharField()
    sentence = serializers.CharField()
    base_revision = serializers.IntegerField(help_text="The revision that the fix was applied to.")
    difference = serializers.ListField(child=serializers.CharField())


class BuildFollowerObject(serializers.Serializer[Any]):
    """A build that was made with the fix of this one's failure."""

    id = serializers.CharField()
    number = serializers.IntegerField()
    state = serializers.ChoiceField(choices=_STATES)


class HeldDeviceObject(serializers.Serializer[Any]):
    """A GPU that a running build holds, whole or in part."""

    id = serializers.CharField(source="device.id")
    node = serializers.CharField(source="device.node.name")
    kind = serializers.CharField(source="device.kind")
    index = serializers.IntegerField(source="device.index")
    memory_bytes = serializers.IntegerField(help_text="What is held of it.")
    claimed_at = serializers.DateTimeField()


@shown_as(examples.BUILD_WHOLE)
class BuildDetailObject(BuildObject):
    """A build whole."""

    after = serializers.SerializerMethodField()
    followed_by = serializers.SerializerMethodField()
    promotion = BuildPromotionObject(allow_null=True)
    devices = serializers.SerializerMethodField()
    forecast = ForecastObject(allow_null=True)
    outcome = serializers.SerializerMethodField()
    reuse = ReuseObject(allow_null=True)
    steps = StepObject(many=True)

    @extend_schema_field(OutcomeObject(many=True))
    def get_outcome(self, build: Build) -> Any:
        device = forecast_panel(build)
        return [each.to_json() for each in device.compared] if device else []

    @extend_schema_field(HeldDeviceObject(many=True))
    def get_devices(self, build: Build) -> Any:
        return HeldDeviceObject(held_devices(build), many=True).data

    @extend_schema_field(BuildOriginObject(allow_null=True))
    def get_after(self, build: Build) -> Any:
        origin = fix_origin(build)
        return BuildOriginObject(origin).data if origin else None

    @extend_schema_field(BuildFollowerObject(many=True))
    def get_followed_by(self, build: Build) -> Any:
        return BuildFollowerObject(fix_followers(build), many=True).data


class BuildLogQuery(LogQuery):
    step = serializers.CharField(required=False, max_length=16)
    attempt = serializers.IntegerField(
        required=False, min_value=1, help_text="The present attempt when absent."
    )


@shown_as(examples.LOG_LINE)
class BuildLogLineObject(LogLineObject):
    step = serializers.CharField()


class BuildLogsObject(serializers.Serializer[Any]):
    logs = BuildLogLineObject(many=True)


@shown_as(examples.ARTIFACT)
class ArtifactObject(serializers.Serializer[Artifact]):
    """An artifact in a list."""

    id = serializers.CharField()
    content_digest = serializers.CharField()
    input_digest = serializers.CharField()
    size_bytes = serializers.IntegerField()
    created_at = serializers.DateTimeField()


class ArtifactFileObject(serializers.Serializer[Any]):
    path = serializers.CharField()
    sha256 = serializers.CharField()
    size_bytes = serializers.IntegerField()


@shown_as(examples.ARTIFACT_TOMBSTONE)
class ArtifactTombstone(serializers.Serializer[Any]):
    id = serializers.CharField()
    deleted = serializers.BooleanField(default=True)


@shown_as(examples.ARTIFACT_WHOLE)
class ArtifactDetailObject(ArtifactObject):
    """An artifact with every file and its passport: what it was made from, how, and by whom."""

    files = ArtifactFileObject(many=True)
    passport = serializers.DictField()


BuildPage = page_schema(BuildObject)
ArtifactPage = page_schema(ArtifactObject)
