"""Pages that keep themselves true: whole on a visit, their changing part when polled."""

import hashlib
import re
from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils.cache import patch_vary_headers

# The mark of what may be put into a page: `static/js/swaps.js` puts in nothing without it.
_MARK = "HX-Part"
# Times tick in the browser by themselves, and a form's token is masked anew in every answer.
_NO_CHANGE = re.compile(r"(?<=>)[^<]*(?=</time>)|(?<=csrfmiddlewaretoken\" value=\")\w+")


def live_answer(
    request: HttpRequest, *, page: str, part: str, context: Mapping[str, Any]
) -> HttpResponse:
    """Return the whole page, or for a poll its part alone: 304 when that has not changed."""
    if not asks_for_part(request):
        whole = HttpResponse(render_to_string(page, {**context, "part": part}, request))
        patch_vary_headers(whole, ["HX-Request"])
        return whole
    return _polled(request, render_to_string(part, {**context, "polled": True}, request))


def part_answer(
    request: HttpRequest, part: str, context: Mapping[str, Any], *, status: int = 200
) -> HttpResponse:
    return as_part(HttpResponse(render_to_string(part, {**context}, request), status=status))


def as_part(response: HttpResponse) -> HttpResponse:
    """Return the response with the mark of what may be put into a page."""
    response.headers[_MARK] = "true"
    response.headers["Cache-Control"] = "no-store"
    patch_vary_headers(response, ["HX-Request"])
    return response


def asks_for_part(request: HttpRequest) -> bool:
    """Return whether a page asks for what it puts into itself, not a person for a page."""
    return bool(request.headers.get("HX-Request"))


def _polled(request: HttpRequest, html: str) -> HttpResponse:
    tag = hashlib.sha256(_NO_CHANGE.sub("", html).encode()).hexdigest()[:20]
    same = request.headers.get("HX-PTag") == tag
    response = as_part(HttpResponse(status=304) if same else HttpResponse(html))
    response.headers["HX-PTag"] = tag
    return response
