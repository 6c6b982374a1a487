from datetime import UTC, timedelta
from decimal import Decimal
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_POST

from apps.accounts.pages import actor_on, allowed_page, page, person
from apps.accounts.permissions import Action, Role, allowed
from apps.deployments.usage.api import LONGEST_DAYS, csv_answer
from apps.deployments.usage.spending import Grouping, usage_lines
from apps.fleet.selectors import price_history
from apps.fleet.services.prices import price_set
from apps.rest.errors import InvalidInput
from apps.ui import formats
from controlplane import clock


class UsageForm(forms.Form):
    group_by = forms.ChoiceField(
        label="By", required=False, choices=[(each.value, each.value) for each in Grouping]
    )
    since = forms.DateField(
        label="From", required=False, widget=forms.DateInput(attrs={"type": "date"})
    )
    until = forms.DateField(
        label="To", required=False, widget=forms.DateInput(attrs={"type": "date"})
    )

    def filters(self) -> dict[str, Any]:
        """Return the grouping and the days, the last 30 where none are given."""
        self.is_valid()
        given = self.cleaned_data
        until = given.get("until") or clock.now().astimezone(UTC).date()
        since = given.get("since") or until - timedelta(days=29)
        since = max(min(since, until), until - timedelta(days=LONGEST_DAYS - 1))
        group_by = Grouping(given.get("group_by") or Grouping.KEY)
        return {"group_by": group_by, "since": since, "until": until}


class PriceForm(forms.Form):
    kind = forms.CharField(label="Kind of GPU", max_length=32)
    per_hour = forms.DecimalField(
        label="Price of an hour", min_value=0, max_digits=12, decimal_places=4
    )


@page
@require_GET
def usage(request: HttpRequest) -> HttpResponse:
    actor, form = actor_on(request), UsageForm(request.GET)
    filters = form.filters()
    is_all = actor.role == Role.ORGANISATION_ADMIN
    lines = usage_lines(**filters, team_id=None if is_all else actor.team.id)
    if "csv" in request.GET:
        return csv_answer(lines)
    context = {
        "form": UsageForm(initial=filters),
        "lines": lines,
        "has_extra_routes": any(line.extra_route_requests for line in lines),
        "money": sum((line.money for line in lines), Decimal(0)),
        "prices": price_history(),
        "price_form": PriceForm() if allowed(actor, Action.PRICE) else None,
        "is_all": is_all,
        "query": request.GET.urlencode(),
    } | filters
    return render(request, "usage/usage.html", context)


@allowed_page(Action.PRICE)
@require_POST
def set_price(request: HttpRequest) -> HttpResponse:
    form = PriceForm(request.POST)
    if not form.is_valid():
        words = "A price has a kind of GPU and an amount of 0 or more."
        raise InvalidInput(words, fields=list(form.errors))
    price = price_set(**form.cleaned_data, user=person(request))
    amount = formats.price(price.per_hour)
    messages.success(request, f"An hour of `{price.kind}` costs {amount} from now on.")
    return redirect("usage")
