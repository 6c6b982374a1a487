"""GET /metrics on the web host, for a Prometheus with a key of type WORKSPACE_EXPORT_METRICS."""

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from prometheus_client import CONTENT_TYPE_LATEST
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.views import APIView

from apps.accounts.models import ApiKeyType
from apps.accounts.permissions import Action, actor_of, allowed
from apps.accounts.rest_views import TeamView
from apps.deployments.metrics.page import metrics_page
from apps.rest.errors import NotAllowed


class MayReadMetrics(BasePermission):
    """Whoever may read the team's things, and the keys made for this page alone."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        """Return True. Raises Unauthenticated or NotAllowed."""
        actor = actor_of(request)
        key = actor.api_key
        is_made_for_it = key is not None and key.type == ApiKeyType.WORKSPACE_EXPORT_METRICS
        if not is_made_for_it and not allowed(actor, Action.READ):
            raise NotAllowed(
                "This key may only call models.",
                hint="Use a key of type `WORKSPACE_EXPORT_METRICS`.",
            )
        return True


class MetricsView(TeamView):
    permission_classes = (MayReadMetrics,)

    @extend_schema(exclude=True)
    def get(self, request: Request) -> HttpResponse:
        """Return the metrics of the team's deployments as Prometheus text."""
        return HttpResponse(metrics_page(team=self.team), content_type=CONTENT_TYPE_LATEST)
