from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from apps.accounts.pages import page, person
from apps.dashboard.search.selectors import hits
from apps.ui.fragments import asks_for_part, part_answer
from apps.ui.listing import list_query_in


@page
@never_cache
@require_safe
def search(request: HttpRequest) -> HttpResponse:
    words = list_query_in(request).words
    context = {"hits": hits(user=person(request), words=words), "words": words}
    if asks_for_part(request):
        return part_answer(request, "dashboard/_search.html", {**context, "is_dialog": True})
    return render(request, "dashboard/search.html", context)
