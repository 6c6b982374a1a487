"""Forecasts, and what became of them, as JSON."""

from typing import Any

from rest_framework import serializers

from apps.builds import examples
from apps.rest.examples import shown_as
from controlplane.domain.forecast import Basis
from controlplane.domain.forecast.outcome import Amount


class EstimateObject(serializers.Serializer[Any]):
    """A number told in advance, with what it rests on."""

    low = serializers.FloatField()
    high = serializers.FloatField()
    basis = serializers.ChoiceField(choices=[each.value for each in Basis])
    source = serializers.CharField()  # type: ignore[assignment]  # a name that DRF has too
    builds = serializers.IntegerField(help_text="How many earlier builds it was measured in.")


class StepForecastObject(serializers.Serializer[Any]):
    """One step; null where neither earlier builds nor a formula say."""

    name = serializers.CharField()
    seconds = EstimateObject(allow_null=True)
    host_bytes = EstimateObject(allow_null=True)


class ForecastDeviceObject(serializers.Serializer[Any]):
    kind = serializers.CharField()
    count = serializers.IntegerField()


class ForecastDiskObject(serializers.Serializer[Any]):
    download_bytes = serializers.IntegerField(allow_null=True)
    exported_bytes = serializers.IntegerField(allow_null=True)
    working_bytes = serializers.IntegerField(allow_null=True)
    source = serializers.CharField()  # type: ignore[assignment]  # a name that DRF has too


class QueuePlaceObject(serializers.Serializer[Any]):
    """How many builds of the pool come first, and how long they take together."""

    pool = serializers.CharField()
    waiting = serializers.IntegerField()
    running = serializers.IntegerField()
    low_seconds = serializers.FloatField(allow_null=True)
    high_seconds = serializers.FloatField(allow_null=True)
    source = serializers.CharField()  # type: ignore[assignment]  # a name that DRF has too


class CachedCheckpointObject(serializers.Serializer[Any]):
    commit = serializers.CharField(allow_null=True)
    is_fetched = serializers.BooleanField()
    build_number = serializers.IntegerField(allow_null=True)
    host = serializers.CharField(allow_null=True)
    words = serializers.CharField()


class CachedArtifactObject(serializers.Serializer[Any]):
    """An artifact of the same commit and config, and what else must be as it was to take it."""

    id = serializers.CharField()
    content_digest = serializers.CharField()
    tool_versions = serializers.DictField(child=serializers.CharField(allow_null=True))
    calibration = serializers.DictField(allow_null=True)


class CachedObject(serializers.Serializer[Any]):
    """What need not be done again."""

    checkpoint = CachedCheckpointObject()
    artifact = CachedArtifactObject(allow_null=True)


@shown_as(examples.FORECAST)
class ForecastObject(serializers.Serializer[Any]):
    """What a build takes; `absent` says why there is no more than its place in the queue."""

    made_at = serializers.DateTimeField()
    absent = serializers.CharField(allow_null=True)
    queue = QueuePlaceObject()
    device = ForecastDeviceObject(required=False)
    seconds = EstimateObject(allow_null=True, required=False)
    host_bytes = EstimateObject(allow_null=True, required=False)
    device_bytes = EstimateObject(allow_null=True, required=False)
    device_absent = serializers.CharField(allow_null=True, required=False)
    disk = ForecastDiskObject(required=False)
    steps = StepForecastObject(many=True, required=False)
    cached = CachedObject(required=False)


class OutcomeObject(serializers.Serializer[Any]):
    """One amount of the build, or of one step: planned and measured."""

    amount = serializers.ChoiceField(choices=[each.value for each in Amount])
    step = serializers.CharField(allow_null=True)
    planned = EstimateObject(allow_null=True)
    measured = serializers.FloatField(allow_null=True)
    measured_by = serializers.CharField(allow_null=True)
    ratio = serializers.FloatField(
        allow_null=True, help_text="Measured over the middle of what was planned."
    )
    absent = serializers.CharField(allow_null=True)


class DifferenceObject(serializers.Serializer[Any]):
    """One input that differs from the nearest earlier artifact's."""

    path = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment]  # a name that DRF has too
    before = serializers.JSONField(allow_null=True)
    now = serializers.JSONField(allow_null=True)


class ReuseObject(serializers.Serializer[Any]):
    """What the worker found of the same inputs, or how the nearest artifact differs."""

    state = serializers.ChoiceField(choices=["same", "lost", "differs", "incomparable", "first"])
    artifact_id = serializers.CharField(allow_null=True)
    differences = DifferenceObject(many=True)
    inputs = serializers.DictField()


class MeasuredObject(serializers.Serializer[Any]):
    """What a step's run took by its supervisor's count; null where nobody could measure."""

    seconds = serializers.FloatField()
    host = serializers.CharField()
    peak_host_bytes = serializers.IntegerField(allow_null=True)
    peak_device_bytes = serializers.IntegerField(allow_null=True)
    device_bytes_from = serializers.CharField(allow_null=True)
    disk_bytes = serializers.IntegerField(allow_null=True)
