from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from apps.accounts.pages import page, person
from apps.configs.calibration_sets.selectors import set_names
from apps.configs.lookahead_tunings.presentation import tuning_context
from apps.configs.lookahead_tunings.selectors import tuning_get, tuning_list
from apps.configs.lookahead_tunings.services import (
    MOST_REQUESTS,
    tuning_apply,
    tuning_cancel,
    tuning_request,
)
from apps.configs.selectors import config_get, config_list, revision_wanted
from apps.configs.traffic_samples.selectors import consent_of, sampled_models
from apps.rest.errors import InvalidInput
from apps.rest.numbers import whole_number
from apps.ui.fragments import live_answer
from controlplane.domain.facts.calibration_sets import PREFIX

_SHOWN = 50


@page
@require_http_methods(["GET", "POST"])
def tunings(request: HttpRequest) -> HttpResponse:
    """Show the tunings and the way to the next, or ask for one."""
    team = person(request).team
    if request.method == "POST":
        config = config_get(team=team, config_id=request.POST.get("config", ""))
        tuning = tuning_request(
            revision=revision_wanted(config=config),
            dataset=request.POST.get("dataset", ""),
            requests=_requests(request.POST.get("requests", "")),
            user=person(request),
        )
        return redirect("lookahead_tunings:tuning", tuning.id)
    context = {
        "tunings": tuning_list(team=team)[:_SHOWN],
        "configs": config_list(team=team).order_by("name")[:100],
        "datasets": [f"{PREFIX}{name}" for name in set_names(team=team)],
        "sampled": sampled_models(consent_of(team)),
        "chosen": request.GET.get("config", ""),
    }
    return render(request, "lookahead_tunings/list.html", context)


@page
@require_GET
def tuning(request: HttpRequest, tuning_id: str) -> HttpResponse:
    tuning = tuning_get(team=person(request).team, tuning_id=tuning_id)
    return live_answer(
        request,
        page="lookahead_tunings/tuning.html",
        part="lookahead_tunings/_tuning.html",
        context=tuning_context(tuning),
    )


@page
@require_POST
def cancel(request: HttpRequest, tuning_id: str) -> HttpResponse:
    tuning_cancel(tuning=tuning_get(team=person(request).team, tuning_id=tuning_id))
    return redirect("lookahead_tunings:tuning", tuning_id)


@page
@require_POST
def apply(request: HttpRequest, tuning_id: str) -> HttpResponse:
    tuning = tuning_get(team=person(request).team, tuning_id=tuning_id)
    revision = tuning_apply(tuning=tuning, user=person(request))
    messages.success(request, f"Revision {revision.number} has the recommended lookahead.")
    return redirect("configs:revision", revision.config_id, revision.number)


def _requests(text: str) -> int:
    number = whole_number(text) if text else 1
    if number is None or not 1 <= number <= MOST_REQUESTS:
        raise InvalidInput(
            f"`{text}` is no number of requests from 1 to {MOST_REQUESTS:,}.", fields=["requests"]
        )
    return number
