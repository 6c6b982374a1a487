from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST, require_safe

from apps.accounts.pages import page, person
from apps.alerts.forms import LimitsForm
from apps.alerts.limits import limits_of, limits_set
from apps.alerts.models import AlertState
from apps.alerts.selectors import alert_list, alerts_firing, channel_list
from apps.rest.errors import InvalidInput
from apps.ui import tones
from apps.ui.fragments import live_answer
from apps.ui.listing import page_in

MOST_SHOWN = 100


@page
@require_safe
def alerts(request: HttpRequest) -> HttpResponse:
    team = person(request).team
    firing = alerts_firing(team=team)
    count = firing.count()
    resolved = page_in(request, alert_list(team=team, state=AlertState.RESOLVED))
    rest = "Alerts · Enginehouse"
    context = {
        "firing": firing[:MOST_SHOWN],
        "firing_count": count,
        "resolved": resolved,
        "page": resolved,
        "has_channels": channel_list(team=team).exists(),
        "limits": limits_of(team=team),
        "tab_title": tones.title("critical", f"{count} · {rest}") if count else rest,
    }
    return live_answer(request, page="alerts/page.html", part="alerts/_page.html", context=context)


@page
@require_POST
def limits(request: HttpRequest) -> HttpResponse:
    form = LimitsForm(request.POST)
    if not form.is_valid():
        field = next(iter(form.errors))
        raise InvalidInput(" ".join(map(str, form.errors[field])), fields=[field])
    limits_set(team=person(request).team, **form.cleaned_data)
    messages.success(request, "The limits are stored.")
    return redirect("alerts:list")
