from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from apps.accounts.models import Team
from apps.accounts.pages import page, person
from apps.alerts.channels.services import (
    channel_change,
    channel_create,
    channel_delete,
    channel_test,
)
from apps.alerts.forms import ChannelForm
from apps.alerts.models import AlertChannel
from apps.alerts.selectors import channel_get, channel_list, delivery_list, last_deliveries
from apps.rest.errors import ApiError, Conflict
from apps.secrets.selectors import secret_names
from apps.ui.fragments import live_answer
from apps.ui.listing import page_in

_FIELDS = ("name", "form", "target", "secret_name", "kinds", "hears_installation", "is_paused")


@page
@require_http_methods(["GET", "HEAD", "POST"])
def channels(request: HttpRequest) -> HttpResponse:
    team = person(request).team
    form = _form(team, request.POST or None)
    if form.is_valid() and (made := _made(form, team, request)):
        messages.success(request, f"`{made.name}` hears of alerts from now on. Send it a test.")
        return redirect("alerts:channel", made.id)
    rows = channel_list(team=team)
    last = last_deliveries(channels=rows)
    context = {"form": form, "rows": [(each, last.get(each.id)) for each in rows]}
    return render(request, "alerts/channels.html", context, status=400 if form.errors else 200)


@page
@require_http_methods(["GET", "HEAD", "POST"])
def channel(request: HttpRequest, channel_id: str) -> HttpResponse:
    team = person(request).team
    channel = channel_get(team=team, channel_id=channel_id)
    form = _form(team, request.POST or None, initial=_initial(channel))
    if form.is_valid() and _changed(form, channel):
        messages.success(request, f"`{form.cleaned_data['name']}` is stored.")
        return redirect("alerts:channel", channel.id)
    shown = page_in(request, delivery_list(channel=channel))
    context = {"channel": channel, "form": form, "deliveries": shown, "page": shown}
    if form.errors:
        context["part"] = "alerts/_deliveries.html"
        return render(request, "alerts/channel.html", context, status=400)
    return live_answer(
        request, page="alerts/channel.html", part="alerts/_deliveries.html", context=context
    )


@page
@require_POST
def test(request: HttpRequest, channel_id: str) -> HttpResponse:
    channel = channel_get(team=person(request).team, channel_id=channel_id)
    channel_test(channel=channel)
    return redirect("alerts:channel", channel.id)


@page
@require_POST
def delete(request: HttpRequest, channel_id: str) -> HttpResponse:
    channel = channel_get(team=person(request).team, channel_id=channel_id)
    if request.POST.get("name", "").strip() != channel.name:
        raise Conflict("The typed name is not the channel's. Nothing was deleted.", fields=["name"])
    channel_delete(channel=channel)
    messages.success(request, f"`{channel.name}` is deleted.")
    return redirect("alerts:channels")


def _form(team: Team, given: Any, **more: Any) -> ChannelForm:
    return ChannelForm(given, secret_names=sorted(secret_names(team=team)), **more)


def _initial(channel: AlertChannel) -> dict[str, Any]:
    return {name: getattr(channel, name) for name in _FIELDS}


def _made(form: ChannelForm, team: Team, request: HttpRequest) -> AlertChannel | None:
    try:
        return channel_create(team=team, user=person(request), **form.cleaned_data)
    except ApiError as error:
        _refuse(form, error)
        return None


def _changed(form: ChannelForm, channel: AlertChannel) -> AlertChannel | None:
    try:
        return channel_change(channel=channel, **form.cleaned_data)
    except ApiError as error:
        _refuse(form, error)
        return None


def _refuse(form: ChannelForm, error: ApiError) -> None:
    """Put what the services refuse beside the field: nothing that was typed is lost."""
    field = next((each for each in error.fields if each in form.fields), None)
    form.add_error(field, " ".join(filter(None, (error.message, error.hint))))
