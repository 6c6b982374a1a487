"""Pages are sent compressed, as styles and scripts are: whole ones only.

Parts that a page renews are small and asked for at every key: they cost no time for it. Streams and
REST answers stay as they are. The token in forms is masked anew for every answer, and Django adds
random bytes, so that a length tells nothing of it.
"""

from collections.abc import Callable
from typing import Any

from asgiref.sync import iscoroutinefunction
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import patch_vary_headers
from django.utils.decorators import sync_and_async_middleware
from django.utils.text import compress_string

_LEAST_BYTES = 2_000
_MOST_RANDOM_BYTES = 100
Handler = Callable[[HttpRequest], Any]


@sync_and_async_middleware
def CompressedPagesMiddleware(get_response: Handler) -> Handler:
    if iscoroutinefunction(get_response):

        async def answer_later(request: HttpRequest) -> HttpResponseBase:
            return _compressed(request, await get_response(request))

        return answer_later

    def answer(request: HttpRequest) -> HttpResponseBase:
        return _compressed(request, get_response(request))

    return answer


def _compressed(request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
    if not _is_page(request, response):
        return response
    assert isinstance(response, HttpResponse)
    patch_vary_headers(response, ("Accept-Encoding",))
    if "gzip" in request.headers.get("Accept-Encoding", ""):
        response.content = compress_string(response.content, max_random_bytes=_MOST_RANDOM_BYTES)
        response.headers["Content-Encoding"] = "gzip"
        response.headers["Content-Length"] = str(len(response.content))
    return response


def _is_page(request: HttpRequest, response: HttpResponseBase) -> bool:
    return (
        isinstance(response, HttpResponse)
        and response.headers.get("Content-Type", "").startswith("text/html")
        and not response.has_header("Content-Encoding")
        and "HX-Request" not in request.headers
        and len(response.content) >= _LEAST_BYTES
    )
