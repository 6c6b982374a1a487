"""Pages to sign in and out."""

from urllib.parse import urlencode

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from apps.accounts.forms import SignInForm
from apps.accounts.services import (
    awaited_user,
    code_sign_in,
    password_sign_in,
    sign_in,
    sign_in_link_redeem,
    sign_out,
)
from apps.rest.errors import ApiError


@never_cache
@require_http_methods(["GET", "POST"])
def sign_in_page(request: HttpRequest) -> HttpResponse:
    """Show the form, or begin a session and go where the person wanted to go."""
    wanted = request.POST.get("next") or request.GET.get("next") or ""
    form = SignInForm(request.POST or None)
    status = 200
    if form.is_valid():
        try:
            user = password_sign_in(request=request, **form.cleaned_data)
            return redirect(_safe_next(request, wanted) if user else _code_page(wanted))
        except ApiError as error:
            form.add_error(None, f"{error.message} {error.hint or ''}".strip())
            status = error.status
    context = {
        "form": form,
        "next": wanted,
        "provider": settings.OIDC_ISSUER_URL and settings.OIDC_NAME,
    }
    return render(request, "accounts/sign_in.html", context, status=status)


@never_cache
@require_http_methods(["GET", "POST"])
def code_page(request: HttpRequest) -> HttpResponse:
    """Ask for the second step, or begin a session and go where the person wanted to go."""
    wanted = request.POST.get("next") or request.GET.get("next") or ""
    if awaited_user(request) is None:
        return redirect("accounts:sign_in")
    refusal, status = "", 200
    if request.method == "POST":
        try:
            code_sign_in(request=request, code=request.POST.get("code", ""))
            return redirect(_safe_next(request, wanted))
        except ApiError as error:
            refusal, status = f"{error.message} {error.hint or ''}".strip(), error.status
    context = {"next": wanted, "refusal": refusal}
    return render(request, "accounts/code.html", context, status=status)


@never_cache
@require_http_methods(["GET", "POST"])
def sign_in_link(request: HttpRequest, token: str) -> HttpResponse:
    """Redeem a one-time link on POST only: a mail scanner that opens it must not spend it."""
    if request.method == "POST":
        if user := sign_in_link_redeem(token):
            sign_in(request=request, user=user, way="link")
            return redirect("dashboard:overview")
        return render(request, "accounts/link.html", {"is_open": False}, status=410)
    return render(request, "accounts/link.html", {"is_open": True})


@require_POST
def sign_out_page(request: HttpRequest) -> HttpResponse:
    """End the session."""
    sign_out(request=request)
    return redirect("accounts:sign_in")


def _code_page(wanted: str) -> str:
    return f"{reverse('accounts:code')}?{urlencode({'next': wanted})}"


def _safe_next(request: HttpRequest, wanted: str) -> str:
    is_ours = url_has_allowed_host_and_scheme(
        wanted, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    return wanted if is_ours else reverse("dashboard:overview")
