from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_GET, require_POST

from apps.accounts.pages import page, person
from apps.builds.forecasts.forecast import forecast_of_revision, forecast_of_spec
from apps.builds.forecasts.panel import ForecastPanel
from apps.configs.drafts import posted_draft
from apps.configs.selectors import config_get, revision_get
from apps.ui.fragments import as_part, part_answer

_PART = "builds/_forecast.html"


@page
@require_POST
def draft(request: HttpRequest) -> HttpResponse:
    """Show what a build of the posted text takes; nothing while the text is no config."""
    spec = posted_draft(request, None).parsed.spec
    if spec is None:
        return as_part(HttpResponse())
    forecast = forecast_of_spec(team=person(request).team, spec=spec)
    return part_answer(request, _PART, {"forecast": ForecastPanel(forecast=forecast)})


@page
@require_GET
def revision(request: HttpRequest, config_id: str, number: int) -> HttpResponse:
    config = config_get(team=person(request).team, config_id=config_id)
    forecast = forecast_of_revision(revision_get(config=config, number=number))
    return part_answer(request, _PART, {"forecast": ForecastPanel(forecast=forecast)})
