from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from apps.accounts.pages import actor_on, page, person
from apps.deployments.environments.restrictions import require_environment
from apps.deployments.environments.services import environment_create, environment_delete
from apps.deployments.selectors import environment_get, model_get
from apps.rest.errors import Conflict


@page
@require_POST
def create(request: HttpRequest, model_id: str) -> HttpResponse:
    model = model_get(team=person(request).team, model_id=model_id)
    name = request.POST.get("name", "").strip()
    require_environment(actor_on(request), name)
    environment_create(model=model, name=name)
    messages.success(request, f"Environment `{name}` is made: promote a deployment to it.")
    return redirect("deployments:model", model_id)


@page
@require_POST
def delete(request: HttpRequest, model_id: str, name: str) -> HttpResponse:
    environment = environment_get(team=person(request).team, model_id=model_id, name=name)
    require_environment(actor_on(request), environment.name)
    if request.POST.get("name", "").strip() != environment.name:
        raise Conflict(f"Type `{environment.name}` to delete the environment.", fields=["name"])
    environment_delete(environment=environment)
    messages.success(request, f"Environment `{name}` is deleted; its deployments stay.")
    return redirect("deployments:model", model_id)
