"""Downloads that are made while they are sent."""

from collections.abc import AsyncIterator, Iterator

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, StreamingHttpResponse


def download_answer(
    request: HttpRequest,
    chunks: Iterator[bytes],
    *,
    content_type: str,
    file_name: str,
    size_bytes: int | None = None,
) -> StreamingHttpResponse:
    """Return the download; under ASGI each piece is made in the request's own thread.

    With `size_bytes` the receiver notices when it was cut short.
    """
    # Given a plain iterator, Django would gather all of it in memory under ASGI.
    answer = StreamingHttpResponse(
        _paced(chunks) if isinstance(request, ASGIRequest) else chunks, content_type=content_type
    )
    answer["Content-Disposition"] = f'attachment; filename="{file_name}"'
    answer["Cache-Control"] = "no-store"
    if size_bytes is not None:
        answer["Content-Length"] = str(size_bytes)
    return answer


async def _paced(chunks: Iterator[bytes]) -> AsyncIterator[bytes]:
    # Not in a thread of a pool, whose database connection nobody would give back.
    pull = sync_to_async(lambda: next(chunks, None))
    while (chunk := await pull()) is not None:
        yield chunk
