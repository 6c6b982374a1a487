from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_POST

from apps.accounts.pages import actor_on, allowed_page, page, person
from apps.accounts.permissions import Action, allowed
from apps.configs.traffic_samples.presentation import consent_fields
from apps.configs.traffic_samples.services import (
    MOST_DAYS,
    consent_give,
    consent_revoke,
    samples_delete,
)
from apps.rest.errors import InvalidInput
from apps.rest.numbers import whole_number

_PERCENT = 100
_USUAL = {"percent": 1, "kept_days": 7}


@page
@require_GET
def samples(request: HttpRequest) -> HttpResponse:
    consent = consent_fields(person(request).team)
    context = {
        "told": consent,
        "is_given": consent["consented_at"] is not None,
        "percent": consent["share"] * _PERCENT or _USUAL["percent"],
        "kept_days": consent["kept_days"] or _USUAL["kept_days"],
        "most_days": MOST_DAYS,
        "may_change": allowed(actor_on(request), Action.SAMPLE_TRAFFIC),
    }
    return render(request, "traffic_samples/samples.html", context)


@allowed_page(Action.SAMPLE_TRAFFIC)
@require_POST
def consent(request: HttpRequest) -> HttpResponse:
    share = _percent(request.POST.get("percent", "")) / _PERCENT
    days = whole_number(request.POST.get("kept_days", ""))
    if days is None:
        raise InvalidInput("The days that samples are kept are a number.", fields=["kept_days"])
    team, user = person(request).team, person(request)
    consent_give(team=team, share=share, kept_days=days, user=user)
    messages.success(request, "Gateways sample the team's traffic from now on.")
    return redirect("traffic_samples:samples")


@allowed_page(Action.SAMPLE_TRAFFIC)
@require_POST
def revoke(request: HttpRequest) -> HttpResponse:
    consent_revoke(team=person(request).team)
    messages.success(request, "Nothing is sampled any more, and gateways delete what they hold.")
    return redirect("traffic_samples:samples")


@allowed_page(Action.SAMPLE_TRAFFIC)
@require_POST
def delete(request: HttpRequest) -> HttpResponse:
    samples_delete(team=person(request).team)
    messages.success(request, "Gateways delete the samples that they hold.")
    return redirect("traffic_samples:samples")


def _percent(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InvalidInput(f"`{text}` is no share in percent.", fields=["percent"]) from None
