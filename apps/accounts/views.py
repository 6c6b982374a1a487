"""Pages to sign in and out, and the team's API keys."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from apps.accounts.forms import KEY_TYPES, ApiKeyForm, SignInForm
from apps.accounts.models import ApiKey, ApiKeyType
from apps.accounts.pages import actor_on, page, person
from apps.accounts.permissions import Action, require
from apps.accounts.selectors import api_key_list
from apps.accounts.services import (
    api_key_create,
    api_key_revoke,
    password_sign_in,
    sign_in,
    sign_in_link_redeem,
    sign_out,
)
from apps.rest.errors import ApiError, Conflict, NotFound


@never_cache
@require_http_methods(["GET", "POST"])
def sign_in_page(request: HttpRequest) -> HttpResponse:
    """Show the form, or begin a session and go where the person wanted to go."""
    wanted = request.POST.get("next") or request.GET.get("next") or ""
    form = SignInForm(request.POST or None)
    status = 200
    if form.is_valid():
        try:
            password_sign_in(request=request, **form.cleaned_data)
            return redirect(_safe_next(request, wanted))
        except ApiError as error:
            form.add_error(None, f"{error.message} {error.hint or ''}".strip())
            status = error.status
    context = {"form": form, "next": wanted}
    return render(request, "accounts/sign_in.html", context, status=status)


@never_cache
@require_http_methods(["GET", "POST"])
def sign_in_link(request: HttpRequest, token: str) -> HttpResponse:
    """Redeem a one-time link on POST only: a mail scanner that opens it must not spend it."""
    if request.method == "POST":
        if user := sign_in_link_redeem(token):
            sign_in(request=request, user=user)
            return redirect("dashboard:overview")
        return render(request, "accounts/link.html", {"is_open": False}, status=410)
    return render(request, "accounts/link.html", {"is_open": True})


@require_POST
def sign_out_page(request: HttpRequest) -> HttpResponse:
    """End the session."""
    sign_out(request=request)
    return redirect("accounts:sign_in")


@page
@never_cache
@require_GET
def key_list(request: HttpRequest) -> HttpResponse:
    """Show the keys."""
    return _keys(request, ApiKeyForm())


@page
@never_cache
@require_POST
def key_create(request: HttpRequest) -> HttpResponse:
    """Make a key and show its text in this one answer: a redirect would have to keep it."""
    form = ApiKeyForm(request.POST)
    if not form.is_valid():
        return _keys(request, form, status=400)
    key_type = ApiKeyType(form.cleaned_data["type"])
    is_personal = key_type is ApiKeyType.PERSONAL
    require(actor_on(request), Action.OWN_KEYS if is_personal else Action.TEAM_KEYS)
    made = api_key_create(
        team=person(request).team,
        type=key_type,
        owner=person(request) if is_personal else None,
        name=form.cleaned_data["name"],
    )
    return _keys(request, ApiKeyForm(), made=made.text)


@page
@require_POST
def key_revoke(request: HttpRequest, key_id: str) -> HttpResponse:
    """End a key whose name was typed."""
    key = api_key_list(actor_on(request)).filter(id=key_id).first()
    if key is None:
        raise NotFound(f"There is no API key `{key_id}`.")
    is_own = key.owner_id == person(request).id
    require(actor_on(request), Action.OWN_KEYS if is_own else Action.TEAM_KEYS)
    if request.POST.get("name", "").strip() != key_name(key):
        raise Conflict(f"Type `{key_name(key)}` to revoke the key.")
    api_key_revoke(api_key=key)
    messages.success(request, f"The key `{key_name(key)}` is revoked.")
    return redirect("accounts:keys")


def key_name(key: ApiKey) -> str:
    """Return what a person types to mean this key."""
    return key.name or key.prefix


def _keys(
    request: HttpRequest, form: ApiKeyForm, *, made: str | None = None, status: int = 200
) -> HttpResponse:
    rows = [_row(key) for key in api_key_list(actor_on(request))]
    context = {"form": form, "made": made, "keys": rows}
    return render(request, "accounts/keys.html", context, status=status)


def _row(key: ApiKey) -> dict[str, object]:
    says = KEY_TYPES.get(ApiKeyType(key.type), key.type)
    if key.owner is not None:
        says = f"do what {key.owner.email} may"
    return {"key": key, "says": says, "confirms": key_name(key)}


def _safe_next(request: HttpRequest, wanted: str) -> str:
    is_ours = url_has_allowed_host_and_scheme(
        wanted, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    return wanted if is_ours else reverse("dashboard:overview")
