"""Pages that keep themselves true: whole on a visit, their changing part when polled."""

import hashlib
import re
from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils.cache import patch_vary_headers

# Times tick in the browser by themselves, and a form's token is masked anew in every answer.
_NO_CHANGE = re.compile(r"(?<=>)[^<]*(?=</time>)|(?<=csrfmiddlewaretoken\" value=\")\w+")


def live_answer(
    request: HttpRequest, *, page: str, part: str, context: Mapping[str, Any]
) -> HttpResponse:
    """Return the whole page, or for a poll its part alone: 304 when that has not changed."""
    if not request.headers.get("HX-Request"):
        whole = HttpResponse(render_to_string(page, {**context, "part": part}, request))
        patch_vary_headers(whole, ["HX-Request"])
        return whole
    return _polled(request, render_to_string(part, {**context, "polled": True}, request))


def _polled(request: HttpRequest, html: str) -> HttpResponse:
    tag = hashlib.sha256(_NO_CHANGE.sub("", html).encode()).hexdigest()[:20]
    same = request.headers.get("HX-PTag") == tag
    response = HttpResponse(status=304) if same else HttpResponse(html)
    response.headers["HX-PTag"] = tag
    response.headers["Cache-Control"] = "no-store"
    patch_vary_headers(response, ["HX-Request"])
    return response
