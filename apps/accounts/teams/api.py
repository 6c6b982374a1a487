from typing import ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.permissions import Action
from apps.accounts.rest_views import TeamView
from apps.accounts.selectors import team_list
from apps.accounts.teams.serializers import TeamListObject, TeamNameBody, TeamObject, TeamQuery
from apps.accounts.teams.services import team_create, team_delete, team_rename
from apps.rest.paging import page_of
from apps.rest.serializers import validated


class TeamListView(TeamView):
    actions: ClassVar = {"POST": Action.TEAMS}

    @extend_schema(parameters=[TeamQuery], responses=TeamListObject)
    def get(self, request: Request) -> Response:
        """Return the teams that the caller belongs to; an admin of the organisation, all."""
        teams = team_list(self.actor)
        query = validated(TeamQuery, request.query_params)
        if name := query.pop("name", None):
            teams = teams.filter(name=name)
        return Response(page_of(teams, by="name", **query).to_json(TeamObject, under="teams"))

    @extend_schema(request=TeamNameBody, responses={201: TeamObject})
    def post(self, request: Request) -> Response:
        """Make a team, with the caller as its admin."""
        body = validated(TeamNameBody, request.data)
        team = team_create(name=body["name"], user=self.user)
        return Response(TeamObject(team).data, status=201)


class TeamDetailView(TeamView):
    actions: ClassVar = {"PATCH": Action.TEAMS, "DELETE": Action.TEAMS}

    @extend_schema(responses=TeamObject)
    def get(self, request: Request, team_id: str) -> Response:
        """Return one team."""
        return Response(TeamObject(self.team).data)

    @extend_schema(request=TeamNameBody, responses=TeamObject)
    def patch(self, request: Request, team_id: str) -> Response:
        """Rename the team."""
        body = validated(TeamNameBody, request.data)
        return Response(TeamObject(team_rename(team=self.team, name=body["name"])).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, team_id: str) -> Response:
        """Delete a team that has nothing left."""
        team_delete(team=self.team)
        return Response(status=204)
