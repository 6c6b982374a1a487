from typing import Any

from rest_framework import serializers

from apps.builds import examples
from apps.rest.examples import shown_as
from apps.rest.record_object import RecordObject
from controlplane.domain.forecast import Forecast
from controlplane.domain.forecast.outcome import Measured, Outcome


@shown_as(examples.FORECAST)
class ForecastObject(RecordObject):
    """What a build takes; `absent` says why there is no more than its place in the queue."""

    record = Forecast


class OutcomeObject(RecordObject):
    """One amount of the build, or of one step: planned and measured."""

    record = Outcome


class MeasuredObject(RecordObject):
    """What a step's run took by its supervisor's count; null where nobody could measure."""

    record = Measured


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
