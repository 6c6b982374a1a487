"""GET /metrics on the web host, and what else to scrape, for a Prometheus with a key for it."""

from typing import Any

from django.http import HttpResponse, JsonResponse, StreamingHttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.views import APIView

from apps.accounts.models import ApiKeyType
from apps.accounts.permissions import Action, actor_of, allowed
from apps.accounts.rest_views import TeamView
from apps.deployments.metrics.page import metrics_parts
from apps.deployments.metrics.targets import scrape_targets
from apps.rest.errors import NotAllowed
from apps.rest.streaming import streamed_answer
from controlplane.domain.wire.exposition import form_for


class MayReadMetrics(BasePermission):
    """Whoever may read the team's things, and the keys made for this page alone."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        actor = actor_of(request)
        key = actor.api_key
        is_made_for_it = key is not None and key.type == ApiKeyType.WORKSPACE_EXPORT_METRICS
        if not is_made_for_it and not allowed(actor, Action.READ):
            raise NotAllowed(
                "This key may only call models.",
                hint="Use a key of type `WORKSPACE_EXPORT_METRICS`.",
            )
        return True


class AnyAnswer(DefaultContentNegotiation):
    """Refuses nobody for what they accept: the view chooses."""

    def select_renderer(
        self, request: Request, renderers: Any, format_suffix: str | None = None
    ) -> tuple[Any, str]:
        """Return the first one, for errors."""
        return renderers[0], renderers[0].media_type


class MetricsView(TeamView):
    permission_classes = (MayReadMetrics,)
    content_negotiation_class = AnyAnswer

    @extend_schema(exclude=True)
    def get(self, request: Request) -> StreamingHttpResponse:
        """Return the metrics of the team's deployments, as text or OpenMetrics."""
        form = form_for(request.headers.get("Accept", ""))
        parts = metrics_parts(team=self.team, form=form)
        return streamed_answer(request._request, parts, content_type=str(form))


class TargetsView(TeamView):
    permission_classes = (MayReadMetrics,)

    @extend_schema(exclude=True)
    def get(self, request: Request) -> HttpResponse:
        """Return what a Prometheus is to scrape, as its `http_sd_configs` reads it."""
        return JsonResponse(scrape_targets(team=self.team), safe=False)
