from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from apps.accounts.forms import JoinForm
from apps.accounts.models import Invitation, User
from apps.accounts.people.invitations import invitation_accept, invitation_accept_as_new
from apps.accounts.selectors import invitation_by_token, user_by_email
from apps.accounts.signing_in.services import sign_in
from apps.rest.errors import ApiError


@never_cache
@require_http_methods(["GET", "POST"])
def join(request: HttpRequest, token: str) -> HttpResponse:
    invitation = invitation_by_token(token)
    if invitation is None:
        return render(request, "accounts/join.html", {"invitation": None}, status=410)
    form, refusal = JoinForm(request.POST if request.method == "POST" else None), ""
    if form.is_bound:
        try:
            if answer := _joined(request, token, form):
                return answer
        except ApiError as error:
            refusal = f"{error.message} {error.hint or ''}".strip()
    context = _context(request, invitation, form) | {"refusal": refusal}
    return render(request, "accounts/join.html", context, status=400 if form.is_bound else 200)


def _joined(request: HttpRequest, token: str, form: JoinForm) -> HttpResponse | None:
    if isinstance(request.user, User):
        team = invitation_accept(token=token, user=request.user)
    elif form.is_valid():
        user = invitation_accept_as_new(token=token, **form.cleaned_data)
        sign_in(request=request, user=user, way="link")
        team = user.team
    else:
        return None
    messages.success(request, f"You belong to `{team.name}` now.")
    return redirect("dashboard:overview")


def _context(request: HttpRequest, invitation: Invitation, form: JoinForm) -> dict[str, object]:
    return {
        "invitation": invitation,
        "form": form,
        "signed_in_as": request.user if isinstance(request.user, User) else None,
        "has_account": user_by_email(invitation.email) is not None,
    }
