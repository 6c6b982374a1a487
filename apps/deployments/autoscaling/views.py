"""How a deployment follows its load, and the page of when which of these settings hold."""

from typing import Any
from zoneinfo import ZoneInfo

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from apps.accounts.pages import actor_on, page, person
from apps.deployments.autoscaling.forms import TIMES, ScheduleForm, SizeForm, shown_in_form
from apps.deployments.autoscaling.schedule_rows import schedule_rows
from apps.deployments.autoscaling.schedules import UTC_NAME, schedules_shown, schedules_update
from apps.deployments.environments.restrictions import (
    closed_environments,
    require_deployment,
    require_environment,
)
from apps.deployments.models import Environment
from apps.deployments.selectors import deployment_get, environment_get
from apps.deployments.services.autoscaling import autoscaling_settings, autoscaling_update
from apps.rest.errors import ApiError, NotFound
from apps.ui.undo import say_undoable
from controlplane import clock


@page
@require_POST
def resize(request: HttpRequest, model_id: str, deployment_id: str) -> HttpResponse:
    deployment = deployment_get(
        team=person(request).team, model_id=model_id, deployment_id=deployment_id
    )
    require_deployment(actor_on(request), deployment)
    before = autoscaling_settings(deployment)
    answer = autoscaling_update(
        deployment=deployment, changes=SizeForm(request.POST, initial=before).changes()
    )
    was = {name: "" if value is None else str(value) for name, value in before.items()}
    say_undoable(request, answer.message, path=request.path, fields=was)
    return redirect("deployments:deployment", model_id, deployment.id)


@page
@require_http_methods(["GET", "HEAD", "POST"])
def schedules(request: HttpRequest, model_id: str, name: str) -> HttpResponse:
    place = _environment(request, model_id, name)
    changed_id = request.GET.get("schedule")
    form = ScheduleForm(request.POST or None, initial=_initial(place, changed_id))
    if form.is_valid() and _stored(request, place, form, changed_id):
        messages.success(request, f"`{form.cleaned_data['name']}` is stored.")
        return redirect("deployments:schedules", model_id, name)
    shown = schedules_shown(place, now=clock.now()) or {}
    context = {
        "place": place,
        "form": form,
        "changed_id": changed_id,
        "timezone": shown.get("timezone", UTC_NAME),
        "applied": shown.get("applied_state"),
        "rows": schedule_rows(shown),
        "times": [(form[field], cadence, label) for field, cadence, label in TIMES],
        "is_closed": place.name in closed_environments(actor_on(request), [place]),
    }
    status = 400 if form.errors else 200
    return render(request, "deployments/schedules.html", context, status=status)


@page
@require_POST
def schedule_delete(request: HttpRequest, model_id: str, name: str) -> HttpResponse:
    place = _changeable(request, model_id, name)
    schedules_update(
        environment=place, changes={"delete_schedules": [request.POST.get("schedule", "")]}
    )
    messages.success(request, "The schedule is removed; the usual settings hold at its times.")
    return redirect("deployments:schedules", model_id, name)


@page
@require_POST
def schedules_timezone(request: HttpRequest, model_id: str, name: str) -> HttpResponse:
    place, zone = _changeable(request, model_id, name), request.POST.get("timezone", "").strip()
    schedules_update(environment=place, changes={"timezone": zone})
    messages.success(request, f"Schedules of `{place.name}` go by {zone or UTC_NAME}.")
    return redirect("deployments:schedules", model_id, name)


def _environment(request: HttpRequest, model_id: str, name: str) -> Environment:
    return environment_get(team=person(request).team, model_id=model_id, name=name)


def _changeable(request: HttpRequest, model_id: str, name: str) -> Environment:
    place = _environment(request, model_id, name)
    require_environment(actor_on(request), place.name)
    return place


def _initial(place: Environment, schedule_id: str | None) -> dict[str, Any]:
    if schedule_id is None:
        return {}
    kept = place.autoscaling_schedules.get("schedules", ())
    stored = next((each for each in kept if each["id"] == schedule_id), None)
    if stored is None:
        raise NotFound(f"There is no schedule `{schedule_id}`.")
    return shown_in_form(stored, _zone(place))


def _stored(
    request: HttpRequest, place: Environment, form: ScheduleForm, schedule_id: str | None
) -> bool:
    require_environment(actor_on(request), place.name)
    try:
        schedules_update(
            environment=place,
            changes={"schedules": [form.schedule(_zone(place), schedule_id)]},
        )
    except ApiError as error:
        form.add_error(None, f"{error.message} {error.hint or ''}".strip())
    return not form.errors


def _zone(place: Environment) -> ZoneInfo:
    return ZoneInfo(place.autoscaling_schedules.get("timezone", UTC_NAME))
