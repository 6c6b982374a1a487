"""Pages of teams: which there are, which one to work in, and what one restricts."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_GET, require_POST

from apps.accounts.environments.services import (
    environment_release,
    environment_restrict,
    environment_set_people,
)
from apps.accounts.forms import TeamForm
from apps.accounts.models import Team
from apps.accounts.pages import actor_on, allowed_page, page, person
from apps.accounts.permissions import Action, allowed
from apps.accounts.selectors import team_list
from apps.accounts.teams.services import team_create, team_delete, team_enter, team_rename
from apps.rest.errors import Conflict, NotFound
from apps.ui.undo import say_undoable


@page
@require_GET
def teams(request: HttpRequest) -> HttpResponse:
    actor = actor_on(request)
    context = {
        "teams": team_list(actor),
        "current": actor.team,
        "form": TeamForm(),
        "may_change": allowed(actor, Action.TEAMS),
    }
    return render(request, "accounts/teams.html", context)


@page
@require_POST
def enter(request: HttpRequest, team_id: str) -> HttpResponse:
    team = team_enter(user=person(request), team_id=team_id)
    messages.success(request, f"You work in `{team.name}` now.")
    onward = request.POST.get("next", "")
    is_ours = url_has_allowed_host_and_scheme(
        onward, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    return redirect(onward if is_ours else "dashboard:overview")


@allowed_page(Action.TEAMS)
@require_POST
def create(request: HttpRequest) -> HttpResponse:
    team = team_create(name=request.POST.get("name", ""), user=person(request))
    team_enter(user=person(request), team_id=team.id)
    messages.success(request, f"The team `{team.name}` is made, and you work in it now.")
    return redirect("accounts:people")


@allowed_page(Action.TEAMS)
@require_POST
def rename(request: HttpRequest, team_id: str) -> HttpResponse:
    team_rename(team=_team(request, team_id), name=request.POST.get("name", ""))
    return redirect("accounts:teams")


@allowed_page(Action.TEAMS)
@require_POST
def delete(request: HttpRequest, team_id: str) -> HttpResponse:
    team = _team(request, team_id)
    if request.POST.get("name", "").strip() != team.name:
        raise Conflict(f"Type `{team.name}` to delete the team.", fields=["name"])
    team_delete(team=team)
    messages.success(request, f"The team `{team.name}` is deleted.")
    return redirect("accounts:teams")


@allowed_page(Action.RESTRICT)
@require_POST
def restrict(request: HttpRequest) -> HttpResponse:
    team, people = person(request).team, request.POST.getlist("people")
    name = request.POST.get("name", "").strip()
    restricted = team.restricted_environments.filter(name=name).first()
    if restricted is None:
        environment_restrict(team=team, name=name, people=people)
        path = reverse("accounts:release", args=[name])
        say_undoable(request, f"`{name}` is restricted.", path=path)
    else:
        environment_set_people(restricted=restricted, people=people)
        messages.success(request, f"`{name}` is restricted.")
    return redirect("accounts:people")


@allowed_page(Action.RESTRICT)
@require_POST
def release(request: HttpRequest, name: str) -> HttpResponse:
    environment_release(team=person(request).team, name=name)
    messages.success(request, f"`{name}` is open to the whole team again.")
    return redirect("accounts:people")


def _team(request: HttpRequest, team_id: str) -> Team:
    team = team_list(actor_on(request)).filter(id=team_id).first()
    if team is None:
        raise NotFound(f"There is no team `{team_id}`.")
    return team
