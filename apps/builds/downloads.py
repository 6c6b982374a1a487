"""The support bundle as an answer that is sent while it is made."""

from collections.abc import AsyncIterator, Iterator

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, StreamingHttpResponse

from apps.builds.models import Build
from apps.builds.support_bundle import bundle_chunks, bundle_name


def support_bundle_answer(request: HttpRequest, build: Build) -> StreamingHttpResponse:
    """Return the download; under ASGI each piece is made outside the event loop."""
    chunks = bundle_chunks(build)
    answer = StreamingHttpResponse(
        _paced(chunks) if isinstance(request, ASGIRequest) else chunks,
        content_type="application/zip",
    )
    answer["Content-Disposition"] = f'attachment; filename="{bundle_name(build)}"'
    answer["Cache-Control"] = "no-store"
    return answer


async def _paced(chunks: Iterator[bytes]) -> AsyncIterator[bytes]:
    # In the request's own thread, whose database connection is given back when it ends.
    pull = sync_to_async(_next)
    while (chunk := await pull(chunks)) is not None:
        yield chunk


def _next(chunks: Iterator[bytes]) -> bytes | None:
    return next(chunks, None)
