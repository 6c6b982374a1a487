from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.builds import examples
from apps.builds.failures.fixes import fix_followers, fix_origin
from apps.builds.forecasts.objects import ForecastObject, MeasuredObject, OutcomeObject, ReuseObject
from apps.builds.forecasts.panel import forecast_panel
from apps.builds.held_devices import held_devices
from apps.builds.models import Artifact, Build, BuildStep
from apps.rest.examples import shown_as
from apps.rest.failure_object import FailureObject
from apps.rest.paging import PageQuery, page_schema
from apps.rest.serializers import StrictSerializer
from apps.telemetry.log_queries import LogLineObject, LogQuery
from controlplane.domain.lifecycle import BuildState, StepState

_STATES = [state.value for state in BuildState]


@shown_as(examples.BUILD_WANTED)
class BuildCreateBody(StrictSerializer):
    config_id = serializers.CharField(max_length=16, help_text="The config to build.")
    revision = serializers.IntegerField(
        required=False, min_value=1, help_text="Number of the revision; the last one when absent."
    )


@shown_as(examples.PROMOTE_REASON)
class BuildPromoteBody(StrictSerializer):
    reason = serializers.CharField(
        max_length=1_000, help_text="Why the loss is acceptable; kept on the build and passport."
    )


class BuildQuery(PageQuery):
    state = serializers.ChoiceField(
        choices=_STATES, required=False, help_text="Only builds in this state."
    )
    config_id = serializers.CharField(
        required=False, max_length=16, help_text="Only builds of this config."
    )


class BuildPromotionObject(serializers.Serializer[Any]):
    """Who accepted what the quality gate found, and why."""

    accepted = serializers.CharField(help_text="What the quality gate had found.")
    by = serializers.EmailField(
        allow_null=True, help_text="Who accepted it; null where the person is gone."
    )
    at = serializers.DateTimeField(help_text="When.")
    reason = serializers.CharField(help_text="Why the loss is acceptable.")


class BuildConfigObject(serializers.Serializer[Any]):
    """What a build was made from."""

    id = serializers.CharField(source="config_id", help_text="The config.")
    name = serializers.CharField(source="config.name")
    revision = serializers.IntegerField(
        source="number", help_text="Number of the revision that was built."
    )


@shown_as(examples.BUILD)
class BuildObject(serializers.Serializer[Build]):
    """A build in a list."""

    id = serializers.CharField()
    number = serializers.IntegerField(help_text="Its number within the team, from 1.")
    state = serializers.ChoiceField(
        choices=_STATES, help_text="Where it is; `succeeded`, `failed` and `cancelled` are final."
    )
    attempt = serializers.IntegerField(help_text="How often it has been started, from 1.")
    config = BuildConfigObject(source="revision", help_text="What it is made from.")
    pool = serializers.CharField(help_text="The pool of GPUs that it runs in.")
    runtime = serializers.CharField(
        allow_blank=True,
        help_text="What serves it, chosen when it was made where the config says `auto`.",
    )
    created_at = serializers.DateTimeField()
    created_by = serializers.EmailField(source="created_by.email", allow_null=True, default=None)
    started_at = serializers.DateTimeField(allow_null=True)
    finished_at = serializers.DateTimeField(allow_null=True)
    cancel_requested_at = serializers.DateTimeField(
        allow_null=True, help_text="When somebody asked to cancel it; null where nobody did."
    )
    artifact_id = serializers.CharField(
        allow_null=True, help_text="What it made; null until it has succeeded."
    )
    failure = FailureObject(allow_null=True, help_text="Why it failed; null where it did not.")


class StepProgressObject(serializers.Serializer[Any]):
    done = serializers.IntegerField(
        source="progress_done", help_text="How much of its work is done."
    )
    total = serializers.IntegerField(
        source="progress_total",
        allow_null=True,
        help_text="How much there is; null while nobody knows.",
    )
    unit = serializers.CharField(
        source="progress_unit", allow_blank=True, help_text="What is counted, such as `bytes`."
    )
    seconds_left = serializers.FloatField(
        source="progress_seconds_left",
        allow_null=True,
        help_text="How long it takes still; null while nobody knows.",
    )


@shown_as(examples.STEP)
class StepObject(serializers.Serializer[BuildStep]):
    """A step of the present attempt; `result` is what it found."""

    name = serializers.CharField(help_text="The step, as in `logs?step=`.")
    state = serializers.ChoiceField(
        choices=[state.value for state in StepState],
        help_text="Where it is; `reused` where an earlier attempt had done it.",
    )
    progress = StepProgressObject(source="*", help_text="How far it is.")
    started_at = serializers.DateTimeField(allow_null=True)
    finished_at = serializers.DateTimeField(allow_null=True)
    waits_for = serializers.CharField(
        allow_blank=True, help_text="Why its work has not begun: who holds what it needs."
    )
    result = serializers.DictField(
        allow_null=True, help_text="What it found; its fields depend on the step."
    )
    measured = MeasuredObject(allow_null=True, help_text="What its run took; null while it runs.")


class StepListObject(serializers.Serializer[Any]):
    steps = StepObject(many=True, help_text="The steps, in order.")


class BuildOriginObject(serializers.Serializer[Any]):
    """The failed build whose fix a build was made with."""

    id = serializers.CharField(source="build.id", help_text="The failed build.")
    number = serializers.IntegerField(
        source="build.number", help_text="Its number within the team."
    )
    code = serializers.CharField(help_text="Code of its failure.")
    sentence = serializers.CharField(help_text="What had happened.")
    base_revision = serializers.IntegerField(help_text="The revision that the fix was applied to.")
    difference = serializers.ListField(
        child=serializers.CharField(),
        help_text="What the fix changed, in lines that begin with `- `, `+ ` or blanks.",
    )


class BuildFollowerObject(serializers.Serializer[Any]):
    """A build that was made with the fix of this one's failure."""

    id = serializers.CharField()
    number = serializers.IntegerField(help_text="Its number within the team.")
    state = serializers.ChoiceField(choices=_STATES, help_text="Where it is.")


class HeldDeviceObject(serializers.Serializer[Any]):
    """A GPU that a running build holds, whole or in part."""

    id = serializers.CharField(source="device.id", help_text="The GPU.")
    node = serializers.CharField(source="device.node.name", help_text="The node that it is in.")
    kind = serializers.CharField(
        source="device.kind", help_text="Its kind, as `resources.accelerator` names it."
    )
    index = serializers.IntegerField(
        source="device.index", help_text="Its place in the node, from 0."
    )
    memory_bytes = serializers.IntegerField(help_text="What is held of it.")
    claimed_at = serializers.DateTimeField(help_text="Since when it is held.")


@shown_as(examples.BUILD_WHOLE)
class BuildDetailObject(BuildObject):
    """A build whole."""

    after = serializers.SerializerMethodField(
        help_text="The failed build whose fix it was made with; null where there is none."
    )
    followed_by = serializers.SerializerMethodField(
        help_text="Builds that were made with the fix of this one's failure."
    )
    promotion = BuildPromotionObject(
        allow_null=True,
        help_text="Who accepted what the quality gate found; null where nobody had to.",
    )
    devices = serializers.SerializerMethodField(help_text="GPUs that it holds now.")
    forecast = ForecastObject(
        allow_null=True, help_text="What it was expected to take when it was made."
    )
    outcome = serializers.SerializerMethodField(
        help_text="What was planned beside what was measured."
    )
    reuse = ReuseObject(
        allow_null=True,
        help_text="What the worker found of the same inputs; null until it has looked.",
    )
    steps = StepObject(many=True, help_text="Its steps, in order.")

    @extend_schema_field(OutcomeObject(many=True))
    def get_outcome(self, build: Build) -> Any:
        panel = forecast_panel(build)
        return [each.model_dump(mode="json") for each in panel.compared] if panel else []

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
    step = serializers.CharField(
        required=False, max_length=16, help_text="Only lines of this step."
    )
    attempt = serializers.IntegerField(
        required=False, min_value=1, help_text="The present attempt when absent."
    )


@shown_as(examples.LOG_LINE)
class BuildLogLineObject(LogLineObject):
    step = serializers.CharField(help_text="The step that wrote it.")


class BuildLogsObject(serializers.Serializer[Any]):
    logs = BuildLogLineObject(many=True, help_text="The lines, in the order that was asked for.")


@shown_as(examples.ARTIFACT)
class ArtifactObject(serializers.Serializer[Artifact]):
    """An artifact in a list."""

    id = serializers.CharField(help_text="Its id: the beginning of its digest.")
    content_digest = serializers.CharField(
        help_text="SHA-256 over the files that the runtime reads."
    )
    input_digest = serializers.CharField(
        help_text="SHA-256 over what it was made from; the same inputs reuse it."
    )
    size_bytes = serializers.IntegerField(help_text="All files together.")
    created_at = serializers.DateTimeField()


class ArtifactFileObject(serializers.Serializer[Any]):
    path = serializers.CharField(help_text="Its path in the artifact.")
    sha256 = serializers.CharField(help_text="SHA-256 of its bytes.")
    size_bytes = serializers.IntegerField(help_text="Its size.")


@shown_as(examples.ARTIFACT_TOMBSTONE)
class ArtifactTombstone(serializers.Serializer[Any]):
    id = serializers.CharField()
    deleted = serializers.BooleanField(default=True, help_text="Always true.")


@shown_as(examples.ARTIFACT_WHOLE)
class ArtifactDetailObject(ArtifactObject):
    """An artifact with every file and its passport: what it was made from, how, and by whom."""

    files = ArtifactFileObject(many=True, help_text="Every file of it.")
    passport = serializers.DictField(
        help_text="What it was made from, how and by whom; docs/builds.md explains every part."
    )


BuildPage = page_schema(BuildObject)
ArtifactPage = page_schema(ArtifactObject)
