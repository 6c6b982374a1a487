"""Teams in the hosted product's shapes (management API, 2026-08-22)."""

from typing import Any

from rest_framework import serializers

from apps.accounts import examples
from apps.accounts.models import Team
from apps.rest.examples import shown_as
from apps.rest.paging import ListQuery, Pagination
from apps.rest.serializers import StrictSerializer


@shown_as(examples.TEAM)
class TeamObject(serializers.ModelSerializer[Team]):
    default = serializers.BooleanField(
        source="is_default", help_text="Whether it is the team that new people join."
    )

    class Meta:
        model = Team
        fields = ["id", "name", "default", "created_at"]


class TeamListObject(serializers.Serializer[Any]):
    teams = TeamObject(many=True, help_text="Teams.")
    pagination = Pagination()


class TeamQuery(ListQuery):
    name = serializers.CharField(
        required=False, max_length=64, help_text="Only the team of exactly this name."
    )


@shown_as(examples.TEAM_NAMED)
class TeamNameBody(StrictSerializer):
    name = serializers.CharField(max_length=64, help_text="Its name.")
