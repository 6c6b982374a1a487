from typing import ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.environments.serializers import (
    RestrictedEnvironmentBody,
    RestrictedEnvironmentListObject,
    RestrictedEnvironmentObject,
    RestrictedEnvironmentPeopleBody,
)
from apps.accounts.environments.services import (
    environment_release,
    environment_restrict,
    environment_set_people,
)
from apps.accounts.models import RestrictedEnvironment
from apps.accounts.permissions import Action
from apps.accounts.rest_views import TeamView
from apps.accounts.selectors import restricted_environment_list
from apps.rest.errors import NotFound
from apps.rest.paging import ListQuery, page_of
from apps.rest.serializers import validated


class RestrictedEnvironmentListView(TeamView):
    actions: ClassVar = {"POST": Action.RESTRICT}

    @extend_schema(parameters=[ListQuery], responses=RestrictedEnvironmentListObject)
    def get(self, request: Request, team_id: str) -> Response:
        """Return the team's restricted environments and who may change them."""
        query = validated(ListQuery, request.query_params)
        page = page_of(restricted_environment_list(self.team), by="name", **query)
        return Response(page.to_json(RestrictedEnvironmentObject, under="restricted_environments"))

    @extend_schema(request=RestrictedEnvironmentBody, responses={201: RestrictedEnvironmentObject})
    def post(self, request: Request, team_id: str) -> Response:
        """Restrict the environments of a name, in all models of the team."""
        body = validated(RestrictedEnvironmentBody, request.data)
        made = environment_restrict(
            team=self.team, name=body["name"], people=body.get("user_ids", [])
        )
        return Response(RestrictedEnvironmentObject(made).data, status=201)


class RestrictedEnvironmentDetailView(TeamView):
    actions: ClassVar = {"PATCH": Action.RESTRICT, "DELETE": Action.RESTRICT}

    @extend_schema(request=RestrictedEnvironmentPeopleBody, responses=RestrictedEnvironmentObject)
    def patch(self, request: Request, team_id: str, name: str) -> Response:
        """Say who may change the environment besides admins."""
        body = validated(RestrictedEnvironmentPeopleBody, request.data)
        environment_set_people(restricted=self._restricted(), people=body["user_ids"])
        return Response(RestrictedEnvironmentObject(self._restricted()).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, team_id: str, name: str) -> Response:
        """Let all members of the team change the environment again."""
        environment_release(team=self.team, name=name)
        return Response(status=204)

    def _restricted(self) -> RestrictedEnvironment:
        environment = (
            restricted_environment_list(self.team).filter(name=self.kwargs["name"]).first()
        )
        if environment is None:
            raise NotFound(f"The environment `{self.kwargs['name']}` is not restricted.")
        return environment
