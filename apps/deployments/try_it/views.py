"""The page on which a model is tried, and the way of what it asks to the gateway."""

from collections.abc import Sequence
from typing import Any

from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import connection
from django.http import HttpRequest, HttpResponse, JsonResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_GET, require_POST

from apps.accounts.keys.page_keys import page_key_text
from apps.accounts.models import User
from apps.accounts.pages import actor_on, page, person
from apps.accounts.permissions import Action, require
from apps.deployments.addresses import CALLED_ROUTES, addresses_of
from apps.deployments.environments.restrictions import closed_names, require_deployment
from apps.deployments.models import Deployment
from apps.deployments.selectors import model_get
from apps.deployments.services.deployments import deployment_activate
from apps.deployments.try_it.calls import Call, call_events
from apps.deployments.try_it.page import TriedPlace, choices_of, tried_place, usable_list
from apps.rest.errors import ApiError, NotFound, Unauthenticated
from apps.ui.fragments import live_answer
from apps.ui.tones import title
from controlplane.domain.wire import error_type, openai_error


@page
@require_GET
def try_it(request: HttpRequest) -> HttpResponse:
    team = person(request).team
    usable = usable_list(team)
    place = request.GET.get("at") or (addresses_of(usable[0])[0].place if usable else "")
    if not place:
        return render(request, "deployments/try.html", {"asked": []})
    sides = [tried_place(team=team, usable=usable, place=place)]
    if beside := request.GET.get("beside"):
        other = tried_place(team=team, usable=usable, place=beside)
        sides += [other] if other.form == sides[0].form else []
    return live_answer(
        request,
        page="deployments/try.html",
        part="deployments/_try_places.html",
        context=_context(request, sides, usable),
    )


@page
@require_POST
def wake(request: HttpRequest) -> HttpResponse:
    here = {name: request.POST[name] for name in ("at", "beside") if request.POST.get(name)}
    team = person(request).team
    side = tried_place(team=team, usable=usable_list(team), place=request.POST.get("place", ""))
    deployment_activate(deployment=require_deployment(actor_on(request), side.deployment))
    return redirect(f"{reverse('deployments:try')}?{urlencode(here)}")


@require_POST
async def call(
    request: HttpRequest, model_id: str, kind: str, name: str, route: str
) -> HttpResponseBase:
    try:
        key = await sync_to_async(_key_of)(request, model_id, route)
    except ApiError as error:
        return _refused(error)
    url = f"{settings.GATEWAY_INTERNAL_URL}/m/{model_id}/{kind}/{name}/{route}"
    answer = StreamingHttpResponse(
        call_events(Call(url=url, key=key, body=request.body)), content_type="text/event-stream"
    )
    answer.headers["Cache-Control"] = "no-store"
    answer.headers["X-Accel-Buffering"] = "no"
    return answer


def _context(
    request: HttpRequest, sides: Sequence[TriedPlace], usable: Sequence[Deployment]
) -> dict[str, Any]:
    first = sides[0]
    return {
        "asked": sides,
        "form": first.form,
        "at": first.address.place,
        "beside": sides[1].address.place if len(sides) > 1 else "",
        "choices": choices_of(usable),
        "others": choices_of(usable, beside=first),
        "closed": closed_names(actor_on(request), [each.address.environment for each in sides]),
        "tab_title": title(first.deployment.state, f"try {first.deployment.model.name}"),
    }


def _key_of(request: HttpRequest, model_id: str, route: str) -> str:
    """Return the person's key to the model. Raises ApiError."""
    try:
        user = request.user
        if not isinstance(user, User):
            raise Unauthenticated("You are signed out.", hint="Sign in again to continue.")
        require(actor_on(request), Action.WRITE)
        if route.removeprefix("sync") not in CALLED_ROUTES:
            raise NotFound(f"Pages do not ask at `{route}`.")
        model_get(team=user.team, model_id=model_id)
        return page_key_text(user=user, team=user.team, model_id=model_id)
    finally:
        # The answer may last for minutes, and needs no database.
        if not connection.in_atomic_block:
            connection.close()


def _refused(error: ApiError) -> JsonResponse:
    body = openai_error(
        f"{error.message} {error.hint or ''}".strip(),
        type=error_type(error.status),
        code=error.code,
    )
    return JsonResponse(body, status=error.status)
