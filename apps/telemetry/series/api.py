"""Series over REST, for programs: what there is, and any of it as JSON or CSV."""

import csv
import io
from datetime import datetime, timedelta
from typing import Any

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.rest_views import TeamView
from apps.rest.examples import file_shown_as, shown_as
from apps.rest.serializers import StrictSerializer, validated
from apps.telemetry.series import examples
from apps.telemetry.series.names import CATALOGUE, CUTS, LABELS
from apps.telemetry.series.points import statistics_of
from apps.telemetry.series.rows import moment
from apps.telemetry.series.selectors import LONGEST_SECONDS, Answer, query
from controlplane import clock

_FILTERS = tuple(name for name in LABELS if name != "team_id")
_MOST_NAMES_LENGTH = 2000
_DEFAULT_RANGE = timedelta(hours=1)
_FIRST_YEAR = 1970


def _since_1970(end: datetime) -> None:
    """Refuse one before which there may be no hour. Raises ValidationError."""
    if end.year < _FIRST_YEAR:
        raise serializers.ValidationError(f"Nothing was measured before {end.isoformat()}.")


class SeriesQuery(StrictSerializer):
    series = serializers.CharField(max_length=64, help_text="Its name: `GET /v1/metrics/series`.")
    start = serializers.DateTimeField(
        required=False, help_text="From when on; an hour before `end` without it."
    )
    end = serializers.DateTimeField(
        required=False, validators=[_since_1970], help_text="Until when; now without it."
    )
    step = serializers.IntegerField(
        required=False,
        min_value=10,
        max_value=LONGEST_SECONDS,
        help_text="Seconds of one point, at least: longer where shorter ones are no longer kept, "
        "or would be too many.",
    )
    group_by = serializers.CharField(
        required=False,
        max_length=_MOST_NAMES_LENGTH,
        help_text="Labels with commas between: a line for each of their values.",
    )

    def get_fields(self) -> dict[str, Any]:
        more = {
            name: serializers.CharField(
                required=False, max_length=_MOST_NAMES_LENGTH, help_text=f"Only of these: {name}s "
                "with commas between.",
            )
            for name in _FILTERS
        }  # fmt: skip
        return {**super().get_fields(), **more}


@shown_as(examples.SERIES)
class SeriesObject(serializers.Serializer[Any]):
    name = serializers.CharField(help_text="What it is asked for by.")
    kind = serializers.CharField(help_text="`counter`, `gauge` or `distribution`.")
    unit = serializers.CharField(help_text="Of its values.")
    measured_by = serializers.CharField(source="source", help_text="Who measured it.")
    description = serializers.CharField(source="words", help_text="What it is.")
    labels = serializers.SerializerMethodField(
        help_text="What it is kept by: any of one list go together."
    )
    statistics = serializers.SerializerMethodField(help_text="What each point of it tells.")

    def get_labels(self, series: Any) -> list[list[str]]:
        return [list(each) for each in CUTS[series.source].values()]

    def get_statistics(self, series: Any) -> list[str]:
        return list(statistics_of(series))


class CatalogueObject(serializers.Serializer[Any]):
    series = SeriesObject(many=True, help_text="Every series.")


@shown_as(examples.LINE)
class LineObject(serializers.Serializer[Any]):
    labels = serializers.DictField(
        child=serializers.CharField(), help_text="What it was grouped by."
    )
    values = serializers.DictField(
        child=serializers.ListField(child=serializers.FloatField(allow_null=True)),
        help_text="Statistic -> a value for each time; null where nothing was measured.",
    )


@shown_as(examples.ANSWER)
class AnswerObject(serializers.Serializer[Any]):
    series = SeriesObject(help_text="What was asked for.")
    step_seconds = serializers.IntegerField(help_text="Between two times.")
    resolution_seconds = serializers.IntegerField(help_text="Of the buckets that it was read from.")
    times = serializers.ListField(
        child=serializers.IntegerField(),
        help_text="Where each point begins, in seconds since the epoch.",
    )
    lines = LineObject(many=True, help_text="One for each group; one without `group_by`.")


class CatalogueView(TeamView):
    @extend_schema(responses=CatalogueObject)
    def get(self, request: Request) -> Response:
        """Return every series with its unit, source and labels."""
        return Response(CatalogueObject({"series": CATALOGUE}).data)


class _QueryView(TeamView):
    def answer(self) -> Answer:
        """Return what the query asks for, of the team. Raises InvalidInput."""
        wanted_series = validated(SeriesQuery, self.query())
        end = wanted_series.get("end") or clock.now()
        return query(
            wanted_series["series"],
            start=wanted_series.get("start") or end - _DEFAULT_RANGE,
            end=end,
            team_id=self.team.id,
            step_seconds=wanted_series.get("step"),
            group_by=_names(wanted_series.get("group_by", "")),
            filters={
                name: _names(wanted_series[name]) for name in _FILTERS if name in wanted_series
            },
        )


class QueryView(_QueryView):
    @extend_schema(parameters=[SeriesQuery], responses=AnswerObject)
    def get(self, request: Request, **path: str) -> Response:
        """Return a series over time, with null where nothing was measured."""
        return Response(AnswerObject(self.answer()).data)


class QueryCsvView(_QueryView):
    @extend_schema(
        parameters=[SeriesQuery],
        responses={(200, "text/csv"): file_shown_as(OpenApiTypes.STR, examples.CSV)},
    )
    def get(self, request: Request, **path: str) -> HttpResponse:
        """Return the same as CSV: a row for each line and time, empty where nothing was."""
        answer = HttpResponse(_csv(self.answer()), content_type="text/csv; charset=utf-8")
        answer["Content-Disposition"] = 'attachment; filename="series.csv"'
        return answer


def _names(text: str) -> list[str]:
    return [each.strip() for each in text.split(",") if each.strip()]


def _csv(answer: Answer) -> str:
    text = io.StringIO()
    writer = csv.writer(text)
    labels = list(answer.lines[0].labels) if answer.lines else []
    statistics = statistics_of(answer.series)
    writer.writerow(["time", *labels, *statistics])
    for line in answer.lines:
        for place, at in enumerate(answer.times):
            values = [line.values[each][place] for each in statistics]
            writer.writerow([moment(at).isoformat(), *line.labels.values(), *values])
    return text.getvalue()
