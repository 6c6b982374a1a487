from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.builds import examples
from apps.builds.api import BuildView
from apps.builds.comparisons.comparison import compare_builds
from apps.builds.selectors import build_detail, build_list, build_previous
from apps.rest.errors import InvalidInput, NotFound
from apps.rest.examples import shown_as
from apps.rest.serializers import StrictSerializer, validated


class ComparisonQuery(StrictSerializer):
    against = serializers.CharField(
        required=False,
        max_length=16,
        help_text="Id of the other build; the one of the same config before it when absent.",
    )


class ComparedRowObject(serializers.Serializer[Any]):
    """One thing of both builds; null where a build does not have it."""

    label = serializers.CharField(help_text="What it is, in words.")  # type: ignore[assignment]  # a name that DRF has too
    left = serializers.JSONField(allow_null=True, help_text="Its value in the left build.")
    right = serializers.JSONField(allow_null=True, help_text="Its value in the right build.")
    differs = serializers.BooleanField(help_text="Whether the two differ.")


class ComparedPartObject(serializers.Serializer[Any]):
    """One group of rows: of config, findings and plan only those that differ."""

    name = serializers.CharField(help_text="What the rows are about.")
    only_differences = serializers.BooleanField(
        help_text="Whether rows that are equal are left out."
    )
    rows = ComparedRowObject(many=True, help_text="Its rows.")


@shown_as(examples.COMPARISON)
class ComparisonObject(serializers.Serializer[Any]):
    """Two builds; `left` is the one compared against."""

    left = serializers.CharField(help_text="Id of the build compared against.")
    right = serializers.CharField(help_text="Id of the build that the address names.")
    parts = ComparedPartObject(many=True, help_text="Groups of rows.")


class BuildComparisonView(BuildView):
    @extend_schema(parameters=[ComparisonQuery], responses=ComparisonObject)
    def get(self, request: Request, build_id: str) -> Response:
        """Return what differs between a build and another one."""
        right = self.build()
        query = validated(ComparisonQuery, request.query_params)
        left = build_detail(team=self.team, build_id=query.get("against") or self._before(right))
        if left.id == right.id:
            raise InvalidInput("A build does not differ from itself.", fields=["against"])
        parts = compare_builds(left, right)
        answer = {
            "left": left.id,
            "right": right.id,
            "parts": [part.to_json() for part in parts],
        }
        return Response(answer)

    def _before(self, build: Any) -> str:
        number = build_previous(build)
        if number is None:
            raise NotFound(
                f"No build of this config is before build {build.number}.",
                hint="Name another build as `against`.",
            )
        return build_list(team=self.team).filter(number=number).values_list("id", flat=True).get()
