from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.benchmarks import examples
from apps.benchmarks.models import Benchmark
from apps.benchmarks.objects import (
    BenchmarkMadeOfObject,
    BenchmarkOrderObject,
    BenchmarkPlannedObject,
    BenchmarkProgressObject,
    BenchmarkStageObject,
)
from apps.benchmarks.results import to_json
from apps.rest.examples import shown_as
from apps.rest.failure_object import FailureObject
from apps.rest.paging import PageQuery, page_schema
from apps.rest.serializers import StrictSerializer
from apps.rest.stored_json import as_stored
from controlplane.domain.benchmarks.order import Limits, Load, LoadKind
from controlplane.domain.benchmarks.samples import FORMS
from controlplane.domain.benchmarks.shapes import SHAPES
from controlplane.domain.lifecycle import BenchmarkState

_WHOLE_SEED = 2**31 - 1


def _limit(words: str, most: float = 3600.0) -> serializers.FloatField:
    return serializers.FloatField(
        required=False, allow_null=True, default=None, min_value=0.000001, max_value=most,
        help_text=f"{words}; null where it does not matter.",
    )  # fmt: skip


class BenchmarkQuery(PageQuery):
    deployment_id = serializers.CharField(
        required=False, max_length=16, help_text="Only those of this deployment."
    )


class ExportQuery(StrictSerializer):
    format = serializers.ChoiceField(
        choices=["csv", "json"], default="csv", help_text="`csv`, a line a level, or `json`."
    )


class CompareQuery(StrictSerializer):
    ids = serializers.CharField(
        max_length=200, help_text="Ids of benchmarks with commas between; at most eight."
    )


class LoadBody(StrictSerializer):
    """How hard: levels one after another, or a ramp."""

    kind = serializers.ChoiceField(
        choices=[each.value for each in LoadKind],
        help_text="`concurrency`: requests at a time; `rate`: requests a second at random moments, "
        "whatever the answers do.",
    )
    levels = serializers.ListField(
        child=serializers.FloatField(min_value=0.001), min_length=1, max_length=12,
        help_text="The levels in their order; for a ramp where it begins and the most it tries.",
    )  # fmt: skip
    is_ramp = serializers.BooleanField(
        default=False, help_text="Whether to double until a limit breaks, then look between."
    )
    seconds = serializers.FloatField(
        default=30.0, min_value=1, max_value=600, help_text="Measured at each level."
    )
    warm_up_seconds = serializers.FloatField(
        default=5.0, min_value=0, max_value=120, help_text="Before that, and left out."
    )


class LimitsBody(StrictSerializer):
    """What a level must keep to count as carried."""

    error_share = _limit("The most of the requests that may fail, from 0 to 1", most=1.0)
    first_token_p90_seconds = _limit("The p90 of the time to the first token")
    inter_token_p90_seconds = _limit("The p90 of the mean time between two tokens of an answer")
    end_to_end_p90_seconds = _limit("The p90 of the time to the last byte")


@shown_as(examples.WANTED)
class BenchmarkBody(StrictSerializer):
    deployment_ids = serializers.ListField(
        child=serializers.CharField(max_length=16), min_length=1, max_length=2,
        help_text="The deployment, or two that take turns at each level.",
    )  # fmt: skip
    shape = serializers.ChoiceField(choices=[*SHAPES], help_text="What requests are like.")
    load = LoadBody(help_text="How hard.")
    limits = LimitsBody(required=False, help_text="What to keep; a ramp needs one at least.")
    prompt_tokens = serializers.IntegerField(
        required=False, min_value=1, max_value=1_000_000, help_text="In place of the shape's."
    )
    completion_tokens = serializers.IntegerField(
        required=False, min_value=1, max_value=1_000_000, help_text="In place of the shape's."
    )
    samples_jsonl = serializers.CharField(
        required=False, trim_whitespace=False,
        help_text=f"For the shape `samples`: lines such as {FORMS}.",
    )  # fmt: skip
    seed = serializers.IntegerField(
        default=0, min_value=0, max_value=_WHOLE_SEED,
        help_text="The same one makes the same requests at the same moments.",
    )  # fmt: skip
    name = serializers.CharField(
        default="", allow_blank=True, max_length=100, help_text="What people call it."
    )

    def validate_load(self, value: dict[str, Any]) -> Load:
        return Load(**value)

    def validate_limits(self, value: dict[str, Any]) -> Limits:
        return Limits(**value)


class BenchmarkResultObject(serializers.Serializer[Any]):
    """What was measured of one deployment."""

    label = serializers.CharField(  # type: ignore[assignment]
        help_text="Its model and name, which may be gone since."
    )
    deployment_id = serializers.CharField(
        allow_null=True, help_text="The deployment; null where it was deleted."
    )
    made_of = as_stored(BenchmarkMadeOfObject(), "What it was made of then.")
    stages = as_stored(BenchmarkStageObject(many=True), "The figures of each level.")
    largest_load = serializers.CharField(
        allow_blank=True, help_text="The largest load within the limits, in one sentence."
    )
    planned = as_stored(BenchmarkPlannedObject(many=True), "The plan beside what was measured.")


@shown_as(examples.BENCHMARK)
class BenchmarkObject(serializers.Serializer[Benchmark]):
    """One run: what was asked of one deployment, or of two, and what came of it."""

    id = serializers.CharField()
    name = serializers.CharField(allow_blank=True, help_text="What people call it.")
    state = serializers.ChoiceField(
        choices=[each.value for each in BenchmarkState],
        help_text="Where it is; `succeeded`, `failed` and `cancelled` are final.",
    )
    shape = serializers.ChoiceField(choices=[*SHAPES], help_text="What requests are like.")
    order = as_stored(BenchmarkOrderObject(), "Lengths, load, limits and seed.")
    progress = as_stored(BenchmarkProgressObject(), "How far it is.")
    results = serializers.SerializerMethodField(help_text="What was measured, by deployment.")
    failure = FailureObject(allow_null=True, help_text="Why it failed; null where it did not.")
    created_at = serializers.DateTimeField()
    created_by = serializers.EmailField(source="created_by.email", allow_null=True, default=None)
    started_at = serializers.DateTimeField(allow_null=True)
    finished_at = serializers.DateTimeField(allow_null=True)
    cancel_requested_at = serializers.DateTimeField(
        allow_null=True, help_text="When someone asked to cancel it; null where nobody did."
    )

    @extend_schema_field(BenchmarkResultObject(many=True))
    def get_results(self, benchmark: Benchmark) -> list[dict[str, Any]]:
        return to_json(benchmark)


BenchmarkPage = page_schema(BenchmarkObject)


@shown_as(examples.COMPARED)
class ComparedBenchmarksObject(serializers.Serializer[Any]):
    """Benchmarks side by side."""

    benchmarks = BenchmarkObject(many=True, help_text="Each with what it measured.")
