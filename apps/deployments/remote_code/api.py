from collections.abc import Mapping
from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.permissions import Action
from apps.accounts.rest_views import TeamView
from apps.configs.models import RemoteCodeGrant
from apps.configs.remote_code.selectors import grant_get, grant_list
from apps.configs.remote_code.services import remote_code_grant, remote_code_revoke
from apps.deployments.remote_code.running import running_by
from apps.deployments.remote_code.serializers import (
    GrantBody,
    GrantObject,
    GrantPage,
    RevokeBody,
)
from apps.rest.paging import PageQuery, page_of
from apps.rest.serializers import validated


class GrantView(TeamView):
    """A view for those who may let code run; the others learn nothing."""

    actions: ClassVar[Mapping[str, Action]] = {
        "GET": Action.REMOTE_CODE,
        "POST": Action.REMOTE_CODE,
    }

    def grant_json(self, grant: RemoteCodeGrant) -> dict[str, Any]:
        return dict(GrantObject(with_running([grant])[0]).data)


class GrantListView(GrantView):
    @extend_schema(parameters=[PageQuery], responses=GrantPage)
    def get(self, request: Request) -> Response:
        """Return every grant for a repository's own code, newest first, revoked ones too."""
        page = page_of(grant_list(), **validated(PageQuery, request.query_params))
        with_running(list(page.rows))
        return Response(page.to_json(GrantObject))

    @extend_schema(request=GrantBody, responses={201: GrantObject})
    def post(self, request: Request) -> Response:
        """Let one commit of a repository run its own Python in builds and engines."""
        grant = remote_code_grant(**validated(GrantBody, request.data), user=self.user)
        return Response(self.grant_json(grant), status=201)


class GrantDetailView(GrantView):
    @extend_schema(responses=GrantObject)
    def get(self, request: Request, grant_id: str) -> Response:
        """Return one grant."""
        return Response(self.grant_json(grant_get(grant_id=grant_id)))


class GrantRevokeView(GrantView):
    @extend_schema(request=RevokeBody, responses=GrantObject)
    def post(self, request: Request, grant_id: str) -> Response:
        """Revoke a grant: nothing new is built or deployed by it, and what runs is named."""
        body = validated(RevokeBody, request.data)
        grant = remote_code_revoke(
            grant=grant_get(grant_id=grant_id), reason=body["reason"], user=self.user
        )
        return Response(self.grant_json(grant))


def with_running(grants: list[RemoteCodeGrant]) -> list[RemoteCodeGrant]:
    """Return the grants, each with the deployments that run by it under `running`."""
    running = running_by(grants)
    for grant in grants:
        grant.running = running[grant.id]  # type: ignore[attr-defined]
    return grants
