from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from apps.accounts.models import User
from apps.accounts.own_account.services import (
    browser_end,
    browsers_end_others,
    password_change,
    session_kept,
)
from apps.accounts.pages import page, person
from apps.accounts.selectors import browser_list, user_by_id
from apps.accounts.signing_in.two_steps import (
    has_two_steps,
    two_steps_begin,
    two_steps_confirm,
    two_steps_end,
)
from apps.rest.errors import Conflict


@page
@never_cache
@require_GET
def account(request: HttpRequest) -> HttpResponse:
    return _account(request)


@page
@require_POST
def change_password(request: HttpRequest) -> HttpResponse:
    password_change(
        request=request,
        user=_myself(request),
        old=request.POST.get("old", ""),
        new=request.POST.get("new", ""),
    )
    messages.success(request, "Your password is changed; other browsers are signed out.")
    return redirect("accounts:account")


@page
@never_cache
@require_POST
def begin_two_steps(request: HttpRequest) -> HttpResponse:
    return _account(request, enrolment=two_steps_begin(user=_myself(request)))


@page
@never_cache
@require_POST
def confirm_two_steps(request: HttpRequest) -> HttpResponse:
    """Turn the second step on and show the recovery codes in this one answer."""
    codes = two_steps_confirm(user=_myself(request), code=request.POST.get("code", ""))
    return _account(request, recovery_codes=codes)


@page
@require_POST
def end_two_steps(request: HttpRequest) -> HttpResponse:
    user = _myself(request)
    if not user.check_password(request.POST.get("password", "")):
        raise Conflict("This password is not right.", fields=["password"])
    two_steps_end(user=user)
    messages.success(request, "Signing in asks for the password only.")
    return redirect("accounts:account")


@page
@require_POST
def end_browser(request: HttpRequest, browser_id: str) -> HttpResponse:
    browser_end(user=person(request), browser_id=browser_id)
    return redirect("accounts:account")


@page
@require_POST
def end_other_browsers(request: HttpRequest) -> HttpResponse:
    ended = browsers_end_others(user=person(request), but=session_kept(request))
    messages.success(request, f"{ended} other browsers are signed out.")
    return redirect("accounts:account")


def _account(request: HttpRequest, **shown: object) -> HttpResponse:
    me = _myself(request)
    context = {
        "me": me,
        "has_two_steps": has_two_steps(me),
        "browsers": browser_list(me),
        "this_browser": session_kept(request),
    }
    return render(request, "accounts/account.html", context | shown)


def _myself(request: HttpRequest) -> User:
    """Return the person read anew: the session's copy may be old."""
    user = user_by_id(person(request).id)
    assert user is not None
    return user
