"""The pages of the REST API: every operation, searched by words, and each one whole."""

from itertools import groupby

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from apps.accounts.pages import page
from apps.dashboard.rest_reference.commands import curl_of
from apps.dashboard.rest_reference.operations import operations
from apps.rest.errors import NotFound


@page
@require_GET
def rest_index(request: HttpRequest) -> HttpResponse:
    words = request.GET.get("q", "").strip()[:200]
    known = operations().values()
    matching = [each for each in known if each.matches(words.lower().split())]
    context = {
        "asked": words,
        "areas": [(area, list(each)) for area, each in groupby(matching, key=lambda it: it.area)],
        "count": len(matching),
        "total": len(known),
    }
    return render(request, "dashboard/rest_index.html", context)


@page
@require_GET
def rest_operation(request: HttpRequest, operation_id: str) -> HttpResponse:
    operation = operations().get(operation_id)
    if operation is None:
        raise NotFound(f"There is no operation `{operation_id}`.")
    context = {"operation": operation, "command": curl_of(operation)}
    return render(request, "dashboard/rest_operation.html", context)
