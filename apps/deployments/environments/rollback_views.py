"""The button that brings an environment back to what served there before."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from apps.accounts.pages import actor_on, page, person
from apps.deployments.environments.restrictions import require_environment
from apps.deployments.environments.rollback import environment_roll_back
from apps.deployments.environments.undo import say_move_undoable
from apps.deployments.models import Environment
from apps.deployments.selectors import environment_get


@page
@require_POST
def roll_back(request: HttpRequest, model_id: str, name: str) -> HttpResponse:
    place = _changeable(request, model_id, name)
    leaving, left = request.POST.get("leaving", ""), place.current_id
    back_to = environment_roll_back(environment=place, user=person(request), leaving=leaving)
    place.refresh_from_db()
    if place.current_id == back_to.id:
        say_move_undoable(request, f"`{name}` is back at `{back_to.name}`.", place, left)
    return redirect("deployments:deployment", model_id, back_to.id)


def _changeable(request: HttpRequest, model_id: str, name: str) -> Environment:
    environment = environment_get(team=person(request).team, model_id=model_id, name=name)
    require_environment(actor_on(request), environment.name)
    return environment
