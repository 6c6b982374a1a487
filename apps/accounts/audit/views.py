from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from apps.accounts.audit.changes import changes_of
from apps.accounts.audit.trail import audit_list, csv_lines, json_lines
from apps.accounts.forms import AuditForm
from apps.accounts.pages import actor_on, allowed_page
from apps.accounts.permissions import Action
from apps.rest.errors import NotFound
from apps.rest.streaming import download_answer

PAGE_SIZE = 50
_FORMATS = {
    "csv": (csv_lines, "text/csv; charset=utf-8"),
    "jsonl": (json_lines, "application/x-ndjson"),
}


@allowed_page(Action.AUDIT)
@never_cache
@require_GET
def audit_trail(request: HttpRequest) -> HttpResponse:
    form = AuditForm(request.GET)
    entries = audit_list(actor_on(request), form.filters())
    shown = Paginator(entries, PAGE_SIZE).get_page(request.GET.get("page"))
    query = request.GET.copy()
    query.pop("page", None)
    context = {
        "form": form,
        "rows": [{"entry": entry, "changes": changes_of(entry)} for entry in shown],
        "page": shown,
        "query": query.urlencode(),
    }
    return render(request, "accounts/audit.html", context, status=200 if form.is_valid() else 400)


@allowed_page(Action.AUDIT)
@require_GET
def audit_export(request: HttpRequest, kind: str) -> StreamingHttpResponse:
    if kind not in _FORMATS:
        raise NotFound(f"There is no export as `{kind}`.")
    lines, content_type = _FORMATS[kind]
    entries = audit_list(actor_on(request), AuditForm(request.GET).filters())
    return download_answer(
        request, lines(entries), content_type=content_type, file_name=f"audit.{kind}"
    )
