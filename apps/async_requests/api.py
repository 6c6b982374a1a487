from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.audit.recording import audit
from apps.accounts.rest_views import TeamView
from apps.async_requests.models import AsyncRequest
from apps.async_requests.selectors import async_request_get, async_request_list
from apps.async_requests.serializers import (
    AsyncCanceledObject,
    AsyncRequestObject,
    AsyncRequestPage,
    AsyncRequestQuery,
)
from apps.async_requests.serializers import AsyncRequestListed as Listed
from apps.async_requests.services.cancelling import async_request_cancel
from apps.deployments.selectors import deployment_get
from apps.rest.paging import page_of
from apps.rest.serializers import Error, validated

_UNKNOWN = OpenApiResponse(Error, description="It is not there, forgotten, or someone else's.")


class AsyncRequestListView(TeamView):
    @extend_schema(parameters=[AsyncRequestQuery], responses=AsyncRequestPage)
    def get(self, request: Request, model_id: str, deployment_id: str) -> Response:
        """Return a deployment's asynchronous requests, newest first."""
        query = validated(AsyncRequestQuery, request.query_params)
        deployment = deployment_get(team=self.team, model_id=model_id, deployment_id=deployment_id)
        rows = async_request_list(
            team=self.team, deployment_id=deployment.id, status=query.pop("status", "")
        )
        return Response(page_of(rows, **query).to_json(Listed))


class AsyncRequestView(TeamView):
    def requested(self) -> AsyncRequest:
        return async_request_get(team=self.team, request_id=self.kwargs["request_id"])


class AsyncRequestDetailView(AsyncRequestView):
    @extend_schema(responses={200: AsyncRequestObject, 404: _UNKNOWN})
    def get(self, request: Request, request_id: str) -> Response:
        """Return how an asynchronous request stands, and what the model answered."""
        return Response(AsyncRequestObject(self.requested()).data)


class AsyncRequestCancelView(AsyncRequestView):
    @extend_schema(request=None, responses={200: AsyncCanceledObject, 404: _UNKNOWN})
    def post(self, request: Request, request_id: str) -> Response:
        """Call a request off: at once while it waits, within seconds while it runs."""
        async_request = self.requested()
        canceled, message = async_request_cancel(request=async_request)
        if canceled:
            audit("async_request.cancel", async_request, team=self.team)
        body = {"request_id": async_request.id, "canceled": canceled, "message": message}
        return Response(AsyncCanceledObject(body).data)
