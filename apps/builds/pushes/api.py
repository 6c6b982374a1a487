from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.rest_views import TeamView
from apps.builds.models import Artifact, ArtifactPush
from apps.builds.pushes.requests import push_cancel, push_request, push_retry
from apps.builds.pushes.selectors import push_get, push_list
from apps.builds.pushes.serializers import PushCreateBody, PushObject, PushPage
from apps.builds.selectors import artifact_detail
from apps.rest.paging import PageQuery, page_of
from apps.rest.serializers import Error, validated

_TAKEN = OpenApiResponse(Error, description="Something else is being pushed there.")
_WRONG_STATE = OpenApiResponse(Error, description="The push is not in a state for this.")


class ArtifactPushView(TeamView):
    def artifact(self) -> Artifact:
        return artifact_detail(team=self.team, artifact_id=self.kwargs["artifact_id"])

    def push(self) -> ArtifactPush:
        return push_get(artifact=self.artifact(), push_id=self.kwargs["push_id"])


class ArtifactPushListView(ArtifactPushView):
    @extend_schema(parameters=[PageQuery], responses=PushPage)
    def get(self, request: Request, artifact_id: str) -> Response:
        """Return the pushes of an artifact, newest first."""
        query = validated(PageQuery, request.query_params)
        return Response(page_of(push_list(artifact=self.artifact()), **query).to_json(PushObject))

    @extend_schema(request=PushCreateBody, responses={201: PushObject, 409: _TAKEN})
    def post(self, request: Request, artifact_id: str) -> Response:
        """Push an artifact to a repository of the hub or to a bucket; a worker carries it out."""
        body = validated(PushCreateBody, request.data)
        push = push_request(artifact=self.artifact(), user=self.user, **body)
        return Response(PushObject(push).data, status=201)


class ArtifactPushDetailView(ArtifactPushView):
    @extend_schema(responses=PushObject)
    def get(self, request: Request, artifact_id: str, push_id: str) -> Response:
        """Return how far a push is, and where the artifact went."""
        return Response(PushObject(self.push()).data)


class ArtifactPushCancelView(ArtifactPushView):
    @extend_schema(request=None, responses={200: PushObject, 409: _WRONG_STATE})
    def post(self, request: Request, artifact_id: str, push_id: str) -> Response:
        """Cancel a push: a queued one at once, a running one within five seconds."""
        return Response(PushObject(push_cancel(push=self.push())).data)


class ArtifactPushRetryView(ArtifactPushView):
    @extend_schema(request=None, responses={200: PushObject, 409: _WRONG_STATE})
    def post(self, request: Request, artifact_id: str, push_id: str) -> Response:
        """Queue a failed or cancelled push again; what has arrived is not sent twice."""
        return Response(PushObject(push_retry(push=self.push())).data)
