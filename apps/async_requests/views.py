from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST, require_safe

from apps.accounts.audit.recording import audit
from apps.accounts.pages import page, person
from apps.async_requests.selectors import async_request_get, async_request_list, queue_status
from apps.async_requests.services.cancelling import async_request_cancel
from apps.deployments.selectors import deployment_get
from apps.ui.fragments import live_answer
from apps.ui.listing import list_query_in, page_in
from controlplane.domain.async_requests.states import OPEN, AsyncStatus

_STATES = [each.value.lower() for each in AsyncStatus]
_LONGEST_OUTPUT = 20_000


@page
@require_safe
def async_requests(request: HttpRequest, model_id: str, deployment_id: str) -> HttpResponse:
    team = person(request).team
    deployment = deployment_get(team=team, model_id=model_id, deployment_id=deployment_id)
    list_query = list_query_in(request, states=_STATES)
    rows = async_request_list(
        team=team, deployment_id=deployment.id, status=list_query.state.upper()
    )
    shown = page_in(request, rows)
    return live_answer(
        request,
        page="async_requests/list.html",
        part="async_requests/_list.html",
        context={
            "deployment": deployment,
            "requests": shown,
            "page": shown,
            "asked": list_query,
            "queue": queue_status(deployment_id=deployment.id),
        },
    )


@page
@require_safe
def async_request(request: HttpRequest, request_id: str) -> HttpResponse:
    async_request = async_request_get(team=person(request).team, request_id=request_id)
    output = async_request.output or ""
    return live_answer(
        request,
        page="async_requests/request.html",
        part="async_requests/_request.html",
        context={
            "asked": async_request,
            "is_open": async_request.status in OPEN,
            "webhook": getattr(async_request, "webhook", None),
            "output": output[:_LONGEST_OUTPUT],
            "is_cut": len(output) > _LONGEST_OUTPUT,
        },
    )


@page
@require_POST
def cancel(request: HttpRequest, request_id: str) -> HttpResponse:
    team = person(request).team
    async_request = async_request_get(team=team, request_id=request_id)
    canceled, _ = async_request_cancel(request=async_request)
    if canceled:
        audit("async_request.cancel", async_request, team=team)
    return redirect("async_requests:request", async_request.id)
