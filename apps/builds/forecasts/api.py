from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.rest_views import TeamView
from apps.builds.forecasts.forecast import forecast_of_revision
from apps.builds.forecasts.objects import ForecastObject
from apps.configs.selectors import config_get, revision_get


class RevisionForecastView(TeamView):
    @extend_schema(responses=ForecastObject)
    def get(self, request: Request, config_id: str, number: int) -> Response:
        """Return what a build of the revision takes, as it would start now."""
        config = config_get(team=self.team, config_id=config_id)
        forecast = forecast_of_revision(revision_get(config=config, number=number))
        return Response(forecast.to_json())
