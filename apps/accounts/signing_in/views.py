"""Pages to sign in and out, and the same forms in a dialog over any page."""

from collections.abc import Mapping
from urllib.parse import urlencode

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.middleware.csrf import get_token
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from apps.accounts.forms import SignInForm
from apps.accounts.signing_in.links import sign_in_link_redeem
from apps.accounts.signing_in.services import (
    awaited_user,
    code_sign_in,
    password_sign_in,
    sign_in,
    sign_out,
)
from apps.rest.errors import ApiError
from apps.ui.fragments import as_part, asks_for_part, part_answer


@never_cache
@require_http_methods(["GET", "POST"])
def sign_in_page(request: HttpRequest) -> HttpResponse:
    next_address = request.POST.get("next") or request.GET.get("next") or ""
    form = SignInForm(request.POST or None)
    status = 200
    if form.is_valid():
        try:
            user = password_sign_in(request=request, **form.cleaned_data)
            return _let_in(request, next_address) if user else _second_step(request, next_address)
        except ApiError as error:
            form.add_error(None, f"{error.message} {error.hint or ''}".strip())
            status = error.status
    return _step_form(request, "sign_in", _form_of(form, next_address), status)


@never_cache
@require_http_methods(["GET", "POST"])
def code_page(request: HttpRequest) -> HttpResponse:
    next_address = request.POST.get("next") or request.GET.get("next") or ""
    if awaited_user(request) is None:
        return _begin_anew(request)
    refusal, status = "", 200
    if request.method == "POST":
        try:
            code_sign_in(request=request, code=request.POST.get("code", ""))
            return _let_in(request, next_address)
        except ApiError as error:
            refusal, status = f"{error.message} {error.hint or ''}".strip(), error.status
    return _step_form(request, "code", {"next": next_address, "refusal": refusal}, status)


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
    sign_out(request=request)
    return redirect("accounts:sign_in")


@never_cache
@require_GET
def session(request: HttpRequest) -> JsonResponse:
    """Return who is signed in and a token for forms, for a page that was opened long ago."""
    body = {"token": get_token(request), "token_cookie": settings.CSRF_COOKIE_NAME}
    return JsonResponse({"user": request.user.pk or "", **body})


def form_token_refused(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Return the page about a form's token; a script sees that it has to renew the token."""
    page = render(request, "403_csrf.html", status=403)
    page.headers["HX-Refusal"] = "form-token"
    return page


def _step_form(
    request: HttpRequest, step: str, context: Mapping[str, object], status: int
) -> HttpResponse:
    """Return a step's form: as a page, or as what the dialog holds."""
    if asks_for_part(request):
        return part_answer(request, f"accounts/_{step}.html", context, status=status)
    return render(request, f"accounts/{step}.html", {**context}, status=status)


def _let_in(request: HttpRequest, next_address: str) -> HttpResponse:
    if not asks_for_part(request):
        return redirect(_safe_next(request, next_address))
    answer = as_part(HttpResponse(status=204))
    answer.headers["HX-Trigger"] = "signed-in"
    return answer


def _second_step(request: HttpRequest, next_address: str) -> HttpResponse:
    if asks_for_part(request):
        return part_answer(request, "accounts/_code.html", {"next": next_address})
    return redirect(f"{reverse('accounts:code')}?{urlencode({'next': next_address})}")


def _begin_anew(request: HttpRequest) -> HttpResponse:
    if not asks_for_part(request):
        return redirect("accounts:sign_in")
    return part_answer(request, "accounts/_sign_in.html", _form_of(SignInForm(), ""))


def _form_of(form: SignInForm, next_address: str) -> dict[str, object]:
    provider = settings.OIDC_ISSUER_URL and settings.OIDC_NAME
    return {"form": form, "next": next_address, "provider": provider}


def _safe_next(request: HttpRequest, next_address: str) -> str:
    is_ours = url_has_allowed_host_and_scheme(
        next_address, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    return next_address if is_ours else reverse("dashboard:overview")
