from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.deployments.api import DeploymentView
from apps.deployments.autoscaling.history import decision_list
from apps.deployments.autoscaling.serializers import (
    ScalingDecisionListObject,
    ScalingDecisionObject,
    ScalingStandingObject,
)
from apps.deployments.autoscaling.standing import standing_of
from apps.rest.paging import ListQuery, page_of
from apps.rest.serializers import validated


class ScalingDecisionsView(DeploymentView):
    @extend_schema(parameters=[ListQuery], responses=ScalingDecisionListObject)
    def get(self, request: Request, **path: str) -> Response:
        """Return how the deployment was sized, newest first, and what would be decided now."""
        deployment = self.deployment()
        query = validated(ListQuery, request.query_params)
        page = page_of(decision_list(deployment=deployment), by="-at", **query)
        standing = standing_of(deployment)
        now = None if standing is None else ScalingStandingObject(standing).data
        return Response({"now": now, **page.to_json(ScalingDecisionObject, under="decisions")})
