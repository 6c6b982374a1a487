from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.rest_views import TeamView
from apps.alerts.limits import limits_of, limits_set
from apps.alerts.selectors import alert_get, alert_list
from apps.alerts.serializers import (
    AlertLimitsBody,
    AlertLimitsObject,
    AlertObject,
    AlertPage,
    AlertQuery,
)
from apps.rest.paging import page_of
from apps.rest.serializers import validated


class AlertListView(TeamView):
    @extend_schema(parameters=[AlertQuery], responses=AlertPage)
    def get(self, request: Request) -> Response:
        """Return the team's alerts and those of what all teams share, newest first."""
        query = validated(AlertQuery, request.query_params)
        state, kind = query.pop("state", ""), query.pop("kind", "")
        alerts = alert_list(team=self.team, state=state, kind=kind)
        return Response(page_of(alerts, by="-fired_at", **query).to_json(AlertObject))


class AlertDetailView(TeamView):
    @extend_schema(responses=AlertObject)
    def get(self, request: Request, alert_id: str) -> Response:
        """Return one alert."""
        return Response(AlertObject(alert_get(team=self.team, alert_id=alert_id)).data)


class AlertLimitsView(TeamView):
    @extend_schema(responses=AlertLimitsObject)
    def get(self, request: Request) -> Response:
        """Return from where on the team's traffic is an alert."""
        return Response(AlertLimitsObject(limits_of(team=self.team)).data)

    @extend_schema(request=AlertLimitsBody, responses=AlertLimitsObject)
    def patch(self, request: Request) -> Response:
        """Change from where on the team's traffic is an alert."""
        body = validated(AlertLimitsBody, request.data)
        return Response(AlertLimitsObject(limits_set(team=self.team, **body)).data)
