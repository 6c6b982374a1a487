from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from apps.accounts.forms import InvitationForm
from apps.accounts.models import Membership, TeamRole, User
from apps.accounts.pages import actor_on, allowed_page, page, person
from apps.accounts.people.invitations import (
    MadeInvitation,
    invitation_create,
    invitation_withdraw,
)
from apps.accounts.people.members import (
    member_remove,
    member_set_role,
    person_deactivate,
    person_reactivate,
    person_set_admin,
)
from apps.accounts.permissions import Action, allowed
from apps.accounts.selectors import (
    invitation_list,
    member_list,
    person_list,
    restricted_environment_list,
)
from apps.rest.errors import Conflict, InvalidInput, NotFound
from apps.ui.undo import say_undoable


@page
@never_cache
@require_GET
def people(request: HttpRequest) -> HttpResponse:
    return _people(request, InvitationForm())


@allowed_page(Action.TEAM_MEMBERS)
@never_cache
@require_POST
def invite(request: HttpRequest) -> HttpResponse:
    form = InvitationForm(request.POST)
    if not form.is_valid():
        return _people(request, form, status=400)
    made = invitation_create(
        team=person(request).team,
        email=form.cleaned_data["email"],
        role=TeamRole(form.cleaned_data["role"]),
        user=person(request),
    )
    return _people(request, InvitationForm(), made=made)


@allowed_page(Action.TEAM_MEMBERS)
@require_POST
def withdraw(request: HttpRequest, invitation_id: str) -> HttpResponse:
    invitation_withdraw(team=person(request).team, invitation_id=invitation_id)
    messages.success(request, "The invitation is withdrawn.")
    return redirect("accounts:people")


@allowed_page(Action.TEAM_MEMBERS)
@require_POST
def set_role(request: HttpRequest, user_id: str) -> HttpResponse:
    role = request.POST.get("role", "")
    if role not in TeamRole.values:
        raise InvalidInput(f"`{role}` is no role.", fields=["role"])
    member = _membership(request, user_id)
    before, user = member.role, member.user
    member_set_role(team=person(request).team, user=user, role=TeamRole(role))
    words = f"{user.email} is a team {role} now."
    say_undoable(request, words, path=request.path, fields={"role": before})
    return redirect("accounts:people")


@allowed_page(Action.TEAM_MEMBERS)
@require_POST
def remove(request: HttpRequest, user_id: str) -> HttpResponse:
    member = _member(request, user_id)
    _refuse_unless_typed(request, member.email)
    member_remove(team=person(request).team, user=member)
    messages.success(request, f"{member.email} no longer belongs to the team.")
    return redirect("accounts:people" if member != person(request) else "dashboard:overview")


@allowed_page(Action.PEOPLE)
@require_POST
def set_account_status(request: HttpRequest, user_id: str) -> HttpResponse:
    user = User.objects.filter(id=user_id).first()
    if user is None:
        raise NotFound(f"There is no user `{user_id}`.")
    status = request.POST.get("status", "")
    if status == "deactivated":
        _refuse_unless_typed(request, user.email)
        person_deactivate(user=user)
    elif status == "active":
        person_reactivate(user=user)
    elif status in ("admin", "member"):
        person_set_admin(user=user, is_admin=status == "admin")
    else:
        raise InvalidInput(f"`{status}` is not a status.", fields=["status"])
    messages.success(request, f"{user.email} is changed.")
    return redirect("accounts:people")


def _people(
    request: HttpRequest,
    form: InvitationForm,
    *,
    made: MadeInvitation | None = None,
    status: int = 200,
) -> HttpResponse:
    actor = actor_on(request)
    context = {
        "team": actor.team,
        "role": actor.role,
        "form": form,
        "made": made,
        "members": member_list(actor.team),
        "restricted": restricted_environment_list(actor.team),
        "may_change": allowed(actor, Action.TEAM_MEMBERS),
        "invitations": (),
        "everybody": (),
    }
    if context["may_change"]:
        context["invitations"] = invitation_list(actor.team)
    if allowed(actor, Action.PEOPLE):
        context["everybody"] = person_list()
    return render(request, "accounts/people.html", context, status=status)


def _member(request: HttpRequest, user_id: str) -> User:
    return _membership(request, user_id).user


def _membership(request: HttpRequest, user_id: str) -> Membership:
    member = member_list(person(request).team).filter(user=user_id).first()
    if member is None:
        raise NotFound(f"`{user_id}` is nobody of this team.")
    return member


def _refuse_unless_typed(request: HttpRequest, email: str) -> None:
    if request.POST.get("name", "").strip() != email:
        raise Conflict(f"Type `{email}` to confirm.", fields=["name"])
