from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from apps.accounts.models import Team
from apps.accounts.pages import actor_on, page, person, words_of
from apps.builds.models import Build
from apps.builds.selectors import build_numbered
from apps.deployments.deploying.effect import default_environment, effect_of
from apps.deployments.deploying.forms import DeployForm
from apps.deployments.environments.restrictions import require_first_place
from apps.deployments.environments.services import environment_create
from apps.deployments.models import Deployment
from apps.deployments.selectors import model_list
from apps.deployments.served_models.services import model_create
from apps.deployments.services.deployments import deployment_create
from apps.rest.errors import ApiError
from apps.ui.fragments import part_answer


@page
@require_http_methods(["GET", "POST"])
def deploy(request: HttpRequest, number: int) -> HttpResponse:
    team = person(request).team
    build = build_numbered(team, number)
    form = DeployForm(request.POST or None, initial=_suggested(team, build))
    if form.is_valid():
        try:
            made = _deploy(request, number, **form.cleaned_data)
            return redirect("deployments:deployment", made.model_id, made.id)
        except ApiError as error:
            form.add_error(_wrong_field(team, form, error), words_of(error))
    names = model_list(team=team).values_list("name", flat=True)
    context = {"build": build, "form": form, "model_names": names, **_effect(team, build, form)}
    status = 400 if form.errors else 200
    return render(request, "deployments/deploy.html", context, status=status)


@page
@require_safe
def deploy_effect(request: HttpRequest, number: int) -> HttpResponse:
    team = person(request).team
    build = build_numbered(team, number)
    context = {"build": build, **_effect(team, build, DeployForm(request.GET))}
    return part_answer(request, "deployments/_effect.html", context)


def _wrong_field(team: Team, form: DeployForm, error: ApiError) -> str | None:
    """Return which field a refused name is of: a model that is there needs none."""
    if "name" not in error.fields:
        return None
    is_known = model_list(team=team, name=form.cleaned_data["model_name"]).exists()
    return "environment" if is_known else "model_name"


def _suggested(team: Team, build: Build) -> dict[str, str]:
    name = str(build.revision.spec.get("model_name") or build.revision.config.name)
    return {
        "model_name": name,
        "environment": default_environment(team=team, model_name=name),
    }


def _effect(team: Team, build: Build, form: DeployForm) -> dict[str, Any]:
    given = {name: str(form[name].value() or "").strip() for name in form.fields}
    return {"effect": effect_of(team=team, build=build, **given) if given["model_name"] else None}


def _deploy(request: HttpRequest, number: int, *, model_name: str, environment: str) -> Deployment:
    user = person(request)
    build = build_numbered(user.team, number)
    model = model_list(team=user.team, name=model_name).first()
    require_first_place(actor_on(request), model, environment or None)
    if model is None:
        _, made = model_create(team=user.team, name=model_name, build=build, user=user)
        return made
    if environment and not model.environments.filter(name=environment).exists():
        environment_create(model=model, name=environment)
    return deployment_create(model=model, build=build, environment=environment or None, user=user)
