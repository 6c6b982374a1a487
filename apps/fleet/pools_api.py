"""Pools over REST: which GPUs are in one, and which teams it serves."""

from collections.abc import Mapping
from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.models import Team
from apps.accounts.permissions import Action
from apps.accounts.rest_views import TeamView
from apps.accounts.selectors import team_list
from apps.fleet import examples
from apps.fleet.models import Device, PoolTeam
from apps.fleet.pools import PoolView, pool_views
from apps.fleet.serializers import DeviceObject
from apps.fleet.services.assigning import device_assign, pool_assign
from apps.rest.errors import InvalidInput, NotFound
from apps.rest.examples import shown_as
from apps.rest.serializers import StrictSerializer, validated


class PoolTeamObject(serializers.Serializer[Any]):
    id = serializers.CharField(help_text="The team.")
    name = serializers.CharField()


@shown_as(examples.POOL)
class PoolObject(serializers.Serializer[PoolView]):
    name = serializers.CharField(help_text="Its name, as `enginehouse.pool` says it.")
    serves_all = serializers.BooleanField(help_text="No team is named, so every team may use it.")
    teams = PoolTeamObject(many=True, help_text="Of those that you may see.")


class PoolListObject(serializers.Serializer[Any]):
    pools = PoolObject(many=True, help_text="Every pool.")


@shown_as({"team_ids": ["k3v9d2xw"]})
class PoolBody(StrictSerializer):
    team_ids = serializers.ListField(
        child=serializers.CharField(max_length=16),
        max_length=1000,
        help_text="None at all: it serves every team.",
    )


@shown_as({"pool": "research"})
class DeviceBody(StrictSerializer):
    pool = serializers.CharField(
        max_length=63, allow_blank=True, help_text="Blank: the pool of its node."
    )


class PoolListView(TeamView):
    @extend_schema(responses=PoolListObject)
    def get(self, request: Request) -> Response:
        """Return every pool, and whom it serves."""
        return Response(PoolListObject({"pools": pool_views(self.actor)}).data)


class PoolDetailView(TeamView):
    actions: ClassVar[Mapping[str, Action]] = {"PATCH": Action.ASSIGN_DEVICES}

    @extend_schema(request=PoolBody, responses=PoolObject)
    def patch(self, request: Request, pool: str) -> Response:
        """Let a pool serve these teams and no other. What runs in it stays."""
        team_ids = validated(PoolBody, request.data)["team_ids"]
        pool_assign(pool=pool, teams=self._teams(team_ids))
        teams = [row.team for row in PoolTeam.objects.filter(pool=pool).select_related("team")]
        return Response(PoolObject(PoolView(name=pool, teams=teams, serves_all=not teams)).data)

    def _teams(self, ids: list[str]) -> list[Team]:
        teams = list(team_list(self.actor).filter(id__in=ids))
        if missing := sorted({*ids} - {team.id for team in teams}):
            raise InvalidInput(f"There is no team `{missing[0]}`.", fields=["team_ids"])
        return teams


class DeviceDetailView(TeamView):
    actions: ClassVar[Mapping[str, Action]] = {"PATCH": Action.ASSIGN_DEVICES}

    @extend_schema(request=DeviceBody, responses=DeviceObject)
    def patch(self, request: Request, device_id: str) -> Response:
        """Assign a GPU to a pool. What holds it keeps it."""
        device = Device.objects.filter(id=device_id).first()
        if device is None:
            raise NotFound(f"There is no GPU `{device_id}`.")
        pool = validated(DeviceBody, request.data)["pool"]
        return Response(DeviceObject(device_assign(device=device, pool=pool)).data)
