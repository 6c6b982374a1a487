from typing import Any

from rest_framework import serializers

from apps.builds import examples
from apps.rest.examples import shown_as
from controlplane.domain.forecast import Basis
from controlplane.domain.forecast.outcome import Amount


class EstimateObject(serializers.Serializer[Any]):
    """A number told in advance, with what it rests on."""

    low = serializers.FloatField(help_text="The lower end.")
    high = serializers.FloatField(help_text="The upper end.")
    basis = serializers.ChoiceField(
        choices=[each.value for each in Basis],
        help_text="What it rests on: earlier builds, or a formula.",
    )
    source = serializers.CharField(help_text="The same in words.")  # type: ignore[assignment]  # a name that DRF has too
    builds = serializers.IntegerField(help_text="How many earlier builds it was measured in.")


class StepForecastObject(serializers.Serializer[Any]):
    """One step; null where neither earlier builds nor a formula say."""

    name = serializers.CharField(help_text="The step.")
    seconds = EstimateObject(allow_null=True, help_text="How long it takes.")
    host_bytes = EstimateObject(
        allow_null=True, help_text="How much host memory it takes at its peak."
    )


class ForecastDeviceObject(serializers.Serializer[Any]):
    kind = serializers.CharField(help_text="Kind of GPU that the build leases; `CPU` where none.")
    count = serializers.IntegerField(help_text="How many of them.")


class ForecastDiskObject(serializers.Serializer[Any]):
    download_bytes = serializers.IntegerField(
        allow_null=True, help_text="What is fetched; 0 where the host has it already."
    )
    exported_bytes = serializers.IntegerField(allow_null=True, help_text="What the artifact takes.")
    working_bytes = serializers.IntegerField(
        allow_null=True, help_text="What is needed besides while it runs."
    )
    source = serializers.CharField(help_text="What these rest on, in words.")  # type: ignore[assignment]  # a name that DRF has too


class QueuePlaceObject(serializers.Serializer[Any]):
    """How many builds of the pool come first, and how long they take together."""

    pool = serializers.CharField(help_text="The pool of GPUs.")
    waiting = serializers.IntegerField(help_text="Builds that wait before it.")
    running = serializers.IntegerField(help_text="Builds that run now.")
    low_seconds = serializers.FloatField(
        allow_null=True,
        help_text="How long those take together, the lower end; null while nobody knows.",
    )
    high_seconds = serializers.FloatField(allow_null=True, help_text="The upper end of the same.")
    source = serializers.CharField(help_text="What these rest on, in words.")  # type: ignore[assignment]  # a name that DRF has too


class CachedCheckpointObject(serializers.Serializer[Any]):
    commit = serializers.CharField(allow_null=True, help_text="The commit of the checkpoint.")
    is_fetched = serializers.BooleanField(help_text="Whether a host has fetched it already.")
    build_number = serializers.IntegerField(allow_null=True, help_text="The build that fetched it.")
    host = serializers.CharField(allow_null=True, help_text="The host that has it.")
    words = serializers.CharField(help_text="The same in words.")


class CachedArtifactObject(serializers.Serializer[Any]):
    """An artifact of the same commit and config, and what else must be as it was to take it."""

    id = serializers.CharField(help_text="The artifact.")
    content_digest = serializers.CharField(
        help_text="SHA-256 over the files that the runtime reads."
    )
    tool_versions = serializers.DictField(
        child=serializers.CharField(allow_null=True),
        help_text="Tool to the version that it was made with.",
    )
    calibration = serializers.DictField(
        allow_null=True, help_text="What it was calibrated on; null where it was not."
    )


class CachedObject(serializers.Serializer[Any]):
    """What need not be done again."""

    checkpoint = CachedCheckpointObject(
        help_text="Whether the checkpoint need not be fetched again."
    )
    artifact = CachedArtifactObject(
        allow_null=True,
        help_text="The artifact that may be taken instead of building; null where there is none.",
    )


@shown_as(examples.FORECAST)
class ForecastObject(serializers.Serializer[Any]):
    """What a build takes; `absent` says why there is no more than its place in the queue."""

    made_at = serializers.DateTimeField(help_text="When it was made.")
    absent = serializers.CharField(
        allow_null=True,
        help_text="Why there is no more than the place in the queue; null where there is.",
    )
    queue = QueuePlaceObject(help_text="What comes before it.")
    device = ForecastDeviceObject(required=False, help_text="What it leases.")
    seconds = EstimateObject(
        allow_null=True, required=False, help_text="How long it takes once it runs."
    )
    host_bytes = EstimateObject(
        allow_null=True, required=False, help_text="Host memory at its peak."
    )
    device_bytes = EstimateObject(
        allow_null=True, required=False, help_text="GPU memory at its peak."
    )
    device_absent = serializers.CharField(
        allow_null=True,
        required=False,
        help_text="Why nothing is said of GPU memory; null where something is.",
    )
    disk = ForecastDiskObject(required=False, help_text="What it takes on disk.")
    steps = StepForecastObject(many=True, required=False, help_text="The same by step.")
    cached = CachedObject(required=False, help_text="What need not be done again.")


class OutcomeObject(serializers.Serializer[Any]):
    """One amount of the build, or of one step: planned and measured."""

    amount = serializers.ChoiceField(
        choices=[each.value for each in Amount], help_text="What was measured."
    )
    step = serializers.CharField(allow_null=True, help_text="The step; null for the whole build.")
    planned = EstimateObject(
        allow_null=True, help_text="What was expected; null where nothing was."
    )
    measured = serializers.FloatField(
        allow_null=True, help_text="What it took; null where nobody could measure."
    )
    measured_by = serializers.CharField(allow_null=True, help_text="What measured it.")
    ratio = serializers.FloatField(
        allow_null=True, help_text="Measured over the middle of what was planned."
    )
    absent = serializers.CharField(
        allow_null=True, help_text="Why one of the two is missing; null where none is."
    )


class DifferenceObject(serializers.Serializer[Any]):
    """One input that differs from the nearest earlier artifact's."""

    path = serializers.CharField(help_text="Where it stands in the inputs.")
    label = serializers.CharField(help_text="What it is, in words.")  # type: ignore[assignment]  # a name that DRF has too
    before = serializers.JSONField(allow_null=True, help_text="Its value in the nearest artifact.")
    now = serializers.JSONField(allow_null=True, help_text="Its value in this build.")


class ReuseObject(serializers.Serializer[Any]):
    """What the worker found of the same inputs, or how the nearest artifact differs."""

    state = serializers.ChoiceField(
        choices=["same", "lost", "differs", "incomparable", "first"],
        help_text="`same`: taken; `lost`: its files are gone; `differs`, `incomparable` or "
        "`first`: built anew.",
    )
    artifact_id = serializers.CharField(
        allow_null=True, help_text="The artifact that was compared with; null where there was none."
    )
    differences = DifferenceObject(many=True, help_text="What differs from it.")
    inputs = serializers.DictField(
        help_text="What this build was made from, as the digest counts it."
    )


class MeasuredObject(serializers.Serializer[Any]):
    """What a step's run took by its supervisor's count; null where nobody could measure."""

    seconds = serializers.FloatField(help_text="How long it ran.")
    host = serializers.CharField(help_text="The host that ran it.")
    peak_host_bytes = serializers.IntegerField(
        allow_null=True, help_text="Host memory at its peak."
    )
    peak_device_bytes = serializers.IntegerField(
        allow_null=True, help_text="GPU memory at its peak."
    )
    device_bytes_from = serializers.CharField(
        allow_null=True, help_text="What counted the GPU memory."
    )
    disk_bytes = serializers.IntegerField(allow_null=True, help_text="What it left on disk.")
