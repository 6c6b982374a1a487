from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_GET

from apps.accounts.pages import page, person
from apps.deployments.metrics.charts import DEFAULT_RANGE, deployment_charts
from apps.deployments.selectors import deployment_get


@page
@require_GET
def series(request: HttpRequest, model_id: str, deployment_id: str) -> HttpResponse:
    deployment = deployment_get(
        team=person(request).team, model_id=model_id, deployment_id=deployment_id
    )  # fmt: skip
    range_name = request.GET.get("range", DEFAULT_RANGE)
    return JsonResponse(
        deployment_charts(deployment=deployment, range_name=range_name),
        headers={"Cache-Control": "no-store"},
    )
