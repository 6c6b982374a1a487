"""What every page view stands behind: someone is signed in, and a refusal is shown, not raised."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, cast

from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.http import url_has_allowed_host_and_scheme

from apps.accounts.models import User
from apps.accounts.permissions import Action, Actor, require
from apps.accounts.teams.elsewhere import team_elsewhere
from apps.rest.errors import ApiError, NotAllowed, NotFound, Unauthenticated
from apps.ui.formats import spaced
from apps.ui.fragments import asks_for_part
from apps.ui.refusals import say_refused

P = ParamSpec("P")
_WORDS = "text/plain; charset=utf-8"
_OF_SCRIPTS = ("application/json", "text/event-stream")
"""What `fetch` and `EventSource` of our pages accept."""
PageView = Callable[Concatenate[HttpRequest, P], HttpResponseBase]


def page(view: PageView[P]) -> PageView[P]:
    """Return the view for people who are signed in: reading needs READ, anything else WRITE.

    What belongs to another team is a 404. A refusal of a service becomes a message on the page
    that the person came from.
    """
    return _guarded(view, None)


def allowed_page(action: Action) -> Callable[[PageView[P]], PageView[P]]:
    """Return what makes a page of a view that needs `action`, whatever its method."""

    def decorate(view: PageView[P]) -> PageView[P]:
        return _guarded(view, action)

    return decorate


def _guarded(view: PageView[P], action: Action | None) -> PageView[P]:
    @wraps(view)
    def guarded(request: HttpRequest, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        if not request.user.is_authenticated:
            return _sign_in_first(request)
        try:
            least = Action.READ if _is_read(request) else Action.WRITE
            require(actor_on(request), action or least)
            return view(request, *args, **kwargs)
        except ApiError as error:
            return _refused(request, error)

    return cast("PageView[P]", guarded)


def _sign_in_first(request: HttpRequest) -> HttpResponse:
    """Return the way to the form; a script is told, and keeps what its page holds."""
    if asks_for_part(request) or request.headers.get("Accept") in _OF_SCRIPTS:
        return _error_page(Unauthenticated("Your session has ended.", hint="Sign in again."))
    # An address that takes POST alone is none to come back to.
    return redirect_to_login(request.get_full_path() if _is_read(request) else came_from(request))


def _refused(request: HttpRequest, error: ApiError) -> HttpResponse:
    """Return the refusal as words for the page that asked, else as a page or on the next one."""
    if asks_for_part(request):
        return _error_page(error)
    if isinstance(error, NotFound):
        if _is_read(request) and (team := team_elsewhere(request)) is not None:
            return render(request, "404.html", {"elsewhere": team}, status=404)
        raise Http404(error.message) from error
    if isinstance(error, NotAllowed):
        raise PermissionDenied(error.message) from error
    if _is_read(request):
        raise error
    say_error(request, error)
    return redirect(came_from(request))


def _error_page(error: ApiError) -> HttpResponse:
    return HttpResponse(spaced(words_of(error)), status=error.status, content_type=_WORDS)


def _is_read(request: HttpRequest) -> bool:
    return request.method in ("GET", "HEAD")


def person(request: HttpRequest) -> User:
    assert isinstance(request.user, User)
    return request.user


def actor_on(request: HttpRequest) -> Actor:
    return Actor(team=person(request).team, user=person(request))


def say_error(request: HttpRequest, error: ApiError) -> None:
    """Put a refusal on the next page, with the form that it is about."""
    say_refused(request, words_of(error), fields=error.fields)


def words_of(error: ApiError) -> str:
    return f"{error.message} {error.hint or ''}".strip()


def came_from(request: HttpRequest) -> str:
    """Return the page of ours that sent the request, the overview where that is unclear."""
    referrer = request.headers.get("Referer", "")
    is_ours = url_has_allowed_host_and_scheme(
        referrer, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    return referrer if is_ours else "/"
