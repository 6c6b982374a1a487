"""The overview, and the probes that supervisors ask."""

from django.db import DatabaseError, InterfaceError, connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from apps.accounts.own_account.services import first_steps_hide
from apps.accounts.pages import page, person
from apps.alerts.conditions.troubles import troubles_here
from apps.dashboard.overview import incidents_context, overview_context
from apps.deployments.usage.spending import month_cost
from apps.ui.fragments import asks_for_part, live_answer
from controlplane import clock


@page
@require_safe
def overview(request: HttpRequest) -> HttpResponse:
    user = person(request)
    context = overview_context(user)
    if not asks_for_part(request):
        # A month is summed up for a visit, not every three seconds; incidents ask by themselves.
        context["cost"] = month_cost(team_id=user.team_id, now=clock.now())
        context |= incidents_context(user.team)
    return live_answer(
        request,
        page="dashboard/overview.html",
        part="dashboard/_overview.html",
        context=context,
    )


@page
@require_safe
def incidents(request: HttpRequest) -> HttpResponse:
    """Answer the overview's first panel, which asks by itself for as long as it is open."""
    if not asks_for_part(request):
        return redirect("dashboard:overview")
    part = "dashboard/_incidents.html"
    return live_answer(
        request, page=part, part=part, context=incidents_context(person(request).team)
    )


@page
@require_POST
def hide_first_steps(request: HttpRequest) -> HttpResponse:
    first_steps_hide(user=person(request))
    return redirect("dashboard:overview")


@never_cache
@require_safe
def readyz(request: HttpRequest) -> HttpResponse:
    """Answer 200 while this process can serve pages: its database answers.

    What it sees of full disks is told beside it.
    """
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except (DatabaseError, InterfaceError):
        answer = JsonResponse({"status": "unavailable", "database": "no answer"}, status=503)
        answer["Retry-After"] = "2"
        return answer
    # Not refused: people read as before, and what is written may still find its place.
    sentences = [each.sentence for each in troubles_here()]
    return JsonResponse({"status": "ready", **({"troubles": sentences} if sentences else {})})


@never_cache
@require_safe
def livez(request: HttpRequest) -> HttpResponse:
    """Answer 200 while this process answers at all: restarting it would mend nothing else."""
    return JsonResponse({"status": "alive"})
