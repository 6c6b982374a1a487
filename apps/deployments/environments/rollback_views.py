"""The buttons that bring an environment back: to what served before, or to stay where it is."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from apps.accounts.pages import actor_on, page, person
from apps.deployments.environments.restrictions import require_environment
from apps.deployments.environments.rollback import environment_roll_back
from apps.deployments.environments.services import environment_cancel_promotion
from apps.deployments.models import Environment
from apps.deployments.selectors import environment_get
from apps.rest.errors import Conflict
from apps.ui.undo import say_undoable


@page
@require_POST
def roll_back(request: HttpRequest, model_id: str, name: str) -> HttpResponse:
    """Have the environment go back to the deployment that served there before."""
    place = _changeable(request, model_id, name)
    leaving, left = request.POST.get("leaving", ""), place.current_id
    back_to = environment_roll_back(environment=place, user=person(request), leaving=leaving)
    place.refresh_from_db()
    if place.current_id == back_to.id:
        _say_undoable(request, f"`{name}` is back at `{back_to.name}`.", place, left)
    return redirect("deployments:deployment", model_id, back_to.id)


@page
@require_POST
def cancel_promotion(request: HttpRequest, model_id: str, name: str) -> HttpResponse:
    """Let go of the candidate: the environment stays where it is."""
    place = _changeable(request, model_id, name)
    candidate_id = place.candidate_id
    if not environment_cancel_promotion(environment=place):
        raise Conflict(f"Nothing is being promoted to `{name}` any more.")
    words = f"`{name}` stays where it is: the promotion is cancelled."
    _say_undoable(request, words, place, candidate_id)
    if place.current_id:
        return redirect("deployments:deployment", model_id, place.current_id)
    return redirect("deployments:model", model_id)


def _say_undoable(
    request: HttpRequest, words: str, place: Environment, deployment_id: str | None
) -> None:
    """Say it; its Undo promotes the deployment there."""
    path = reverse("deployments:promote", args=[place.model_id, deployment_id])
    say_undoable(request, words, path=path, fields={"environment": place.name})


def _changeable(request: HttpRequest, model_id: str, name: str) -> Environment:
    found = environment_get(team=person(request).team, model_id=model_id, name=name)
    require_environment(actor_on(request), found.name)
    return found
