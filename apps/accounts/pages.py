"""What every page view stands behind: somebody is signed in, and a refusal is shown, not raised."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, cast

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponseBase
from django.shortcuts import redirect
from django.utils.http import url_has_allowed_host_and_scheme

from apps.accounts.models import User
from apps.accounts.permissions import Action, Actor, require
from apps.rest.errors import ApiError, NotAllowed, NotFound

P = ParamSpec("P")
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
        is_read = request.method in ("GET", "HEAD")
        try:
            require(actor_on(request), action or (Action.READ if is_read else Action.WRITE))
            return view(request, *args, **kwargs)
        except NotFound as error:
            raise Http404(error.message) from error
        except NotAllowed as error:
            raise PermissionDenied(error.message) from error
        except ApiError as error:
            if is_read:
                raise
            say_error(request, error)
            return redirect(came_from(request))

    return cast("PageView[P]", login_required(guarded))


def person(request: HttpRequest) -> User:
    """Return who is signed in."""
    assert isinstance(request.user, User)
    return request.user


def actor_on(request: HttpRequest) -> Actor:
    """Return on whose behalf a page acts."""
    return Actor(team=person(request).team, user=person(request))


def say_error(request: HttpRequest, error: ApiError) -> None:
    """Put a refusal on the next page."""
    messages.error(request, f"{error.message} {error.hint or ''}".strip())


def came_from(request: HttpRequest) -> str:
    """Return the page of ours that sent the request, the overview where that is unclear."""
    referrer = request.headers.get("Referer", "")
    is_ours = url_has_allowed_host_and_scheme(
        referrer, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    return referrer if is_ours else "/"
