"""ETags: a GET that is asked again costs no body, and nobody overwrites what they did not see."""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from django.db import connection
from django.http import HttpResponseBase
from django.utils.cache import get_conditional_response
from rest_framework.request import Request
from rest_framework.response import Response

from apps.rest.errors import ApiError
from apps.rest.renderers import AnyTextJSONRenderer


class ChangedSinceError(ApiError):
    """The thing is no longer what the caller saw."""

    status = 412
    code = "changed_since"


def tag_of(content: bytes) -> str:
    return f'"{hashlib.sha256(content).hexdigest()[:32]}"'


def tag_answer(request: Request, response: Response) -> None:
    """Give a GET's answer its ETag once it is rendered, and a 304 to whoever has it already."""
    if request.method == "GET" and response.status_code == 200:
        response.add_post_render_callback(_tagger(request))


@contextmanager
def _one_at_a_time(path: str) -> Iterator[None]:
    """Between the comparison and the change nobody else may change the thing."""
    number = int.from_bytes(hashlib.sha256(path.encode()).digest()[:8], signed=True)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [number])
        try:
            yield
        finally:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [number])


def held(method: str | None, path: str, if_match: str | None) -> Any:
    """Return what keeps conditional changes of one path from running side by side."""
    conditional = if_match is not None and method not in ("GET", "HEAD")
    return _one_at_a_time(path) if conditional else nullcontext()


def require_unchanged(request: Request, current: Callable[[], Any] | None) -> None:
    """Return if `If-Match` is absent or names what is there. Raises ChangedSinceError."""
    if_match = request.headers.get("If-Match")
    if if_match is None or request.method in ("GET", "HEAD", "OPTIONS"):
        return
    names = [each.strip() for each in if_match.split(",")]
    if current is None:
        if names == ["*"]:
            return
        raise ChangedSinceError(
            f"`{request.path}` cannot be read, so it has no ETag.", hint="Leave out `If-Match`."
        )
    tag = tag_of(AnyTextJSONRenderer().render(current()))
    if names != ["*"] and tag not in names:
        raise ChangedSinceError(
            f"`{request.path}` has changed since you read it.",
            hint="Read it again and send the new `ETag` in `If-Match`.",
            details={"etag": tag},
        )


def _tagger(request: Request) -> Callable[[Any], HttpResponseBase | None]:
    def tag(response: Any) -> HttpResponseBase | None:
        response["ETag"] = tag_of(response.content)
        response.headers.setdefault("Cache-Control", "private, no-cache")
        answer = get_conditional_response(
            request._request, etag=response["ETag"], response=response
        )
        return answer if answer is not response else None

    return tag
