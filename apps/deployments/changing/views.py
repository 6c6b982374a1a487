from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from apps.accounts.pages import actor_on, page, person, words_of
from apps.deployments.changing.change import change_of, place_of, served_build
from apps.deployments.changing.services import deployment_change_settings
from apps.deployments.environments.restrictions import require_deployment, require_environment
from apps.deployments.models import Deployment
from apps.deployments.selectors import deployment_get
from apps.rest.errors import ApiError
from apps.ui.fragments import part_answer


@page
@require_http_methods(["GET", "POST"])
def change_settings(request: HttpRequest, model_id: str, deployment_id: str) -> HttpResponse:
    deployment = _deployment(request, model_id, deployment_id)
    context = _context(request, deployment)
    if request.method != "POST":
        return render(request, "deployments/change.html", context)
    try:
        made = _apply(request, deployment)
    except ApiError as error:
        context |= _effect(request, deployment) | {"error": words_of(error)}
        return render(request, "deployments/change.html", context, status=400)
    return redirect("deployments:deployment", made.model_id, made.id)


@page
@require_POST
def change_effect(request: HttpRequest, model_id: str, deployment_id: str) -> HttpResponse:
    deployment = _deployment(request, model_id, deployment_id)
    return part_answer(request, "deployments/_change_effect.html", _effect(request, deployment))


def _apply(request: HttpRequest, deployment: Deployment) -> Deployment:
    require_deployment(actor_on(request), deployment)
    change = change_of(
        deployment=deployment,
        text=_text(request),
        environment=request.POST.get("environment", ""),
    )
    if change.environment:
        require_environment(actor_on(request), change.environment)
    return deployment_change_settings(change=change, user=person(request))


def _effect(request: HttpRequest, deployment: Deployment) -> dict[str, Any]:
    try:
        change = change_of(
            deployment=deployment,
            text=_text(request),
            environment=request.POST.get("environment", ""),
        )
    except ApiError as error:
        return {"deployment": deployment, "refused": words_of(error)}
    return {"deployment": deployment, "change": change}


def _context(request: HttpRequest, deployment: Deployment) -> dict[str, Any]:
    revision = served_build(deployment).revision
    is_posted = request.method == "POST"
    return {
        "deployment": deployment,
        "revision": revision,
        "text": _text(request) if is_posted else revision.text,
        "environment": request.POST.get("environment", "") if is_posted else place_of(deployment),
        "environments": deployment.model.environments.order_by("name"),
    }


def _text(request: HttpRequest) -> str:
    return request.POST.get("text", "").replace("\r\n", "\n")


def _deployment(request: HttpRequest, model_id: str, deployment_id: str) -> Deployment:
    return deployment_get(team=person(request).team, model_id=model_id, deployment_id=deployment_id)
