from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET, require_POST

from apps.accounts.pages import actor_on, page, person
from apps.deployments.addresses import addresses_of
from apps.deployments.environments.presentation import deletions_of
from apps.deployments.environments.restrictions import closed_environments, require_model
from apps.deployments.environments.rolling.panel import roll_panels
from apps.deployments.environments.rolling.settings_form import MoveForm
from apps.deployments.history.shown import history_of_model
from apps.deployments.presentation import DeploymentRow
from apps.deployments.selectors import deployment_list, environment_list, model_get
from apps.deployments.served_models.presentation import model_deletion_words
from apps.deployments.served_models.services import model_delete
from apps.deployments.snippets import snippets_of
from apps.rest.errors import Conflict
from apps.telemetry.traffic import traffic_by_deployment, traffic_of_model
from apps.ui.fragments import live_answer
from apps.ui.listing import list_query_in, page_in, sorted_rows

_SORTS = {"name": "name", "state": "state", "replicas": "wanted_replicas", "created": "created_at"}


@page
@require_GET
def model(request: HttpRequest, model_id: str) -> HttpResponse:
    team = person(request).team
    model = model_get(team=team, model_id=model_id)
    deployments = deployment_list(team=team, model_id=model_id)
    list_query = list_query_in(request, sorts=_SORTS, anchor="deployments-title")
    shown = page_in(request, sorted_rows(deployments, list_query.sort, _SORTS))
    traffic = traffic_by_deployment(deployment_ids=[each.id for each in shown])
    rows = [DeploymentRow(deployment=each, traffic=traffic[each.id]) for each in shown]
    environments = list(environment_list(team=team, model_id=model_id))
    closed = closed_environments(actor_on(request), environments)
    current = next((each.current for each in environments if each.current), None)
    called = addresses_of(current)[0] if current else None
    context = {
        "model": model,
        **history_of_model(model, environments),
        "closed": closed,
        "forms": [
            MoveForm(environment=each, is_closed=each.name in closed) for each in environments
        ],
        "deletion": model_deletion_words(environments, deployments=shown.paginator.count),
        "deletions": deletions_of(environments),
        "rolls": roll_panels(environments, actor=actor_on(request)),
        "traffic": traffic_of_model(model_id=model_id),
        "rows": rows,
        "page": shown,
        "asked": list_query,
        "called": called,
        "addresses": [called],
        "snippets": snippets_of(called) if called else None,
    }
    return live_answer(
        request,
        page="deployments/model.html",
        part="deployments/_model.html",
        context=context,
    )


@page
@require_POST
def delete(request: HttpRequest, model_id: str) -> HttpResponse:
    model = model_get(team=person(request).team, model_id=model_id)
    require_model(actor_on(request), model)
    if request.POST.get("name", "").strip() != model.name:
        raise Conflict(f"Type `{model.name}` to delete the model.", fields=["name"])
    name = model.name
    model_delete(model=model)
    messages.success(request, f"Model `{name}` is deleted; builds, artifacts and usage stay.")
    return redirect("deployments:list")
