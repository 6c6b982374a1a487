from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from apps.accounts.pages import page
from apps.dashboard.docs.library import INDEX, documents
from apps.rest.errors import NotFound


@page
@require_safe
def document(request: HttpRequest, path: str = INDEX) -> HttpResponse:
    page = documents().get(path)
    if page is None:
        raise NotFound(f"There is no document `{path}`.")
    context = {"document": page, "is_index": path == INDEX}
    return render(request, "dashboard/document.html", context)
