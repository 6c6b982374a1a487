from collections.abc import AsyncIterator, Iterator
from itertools import chain

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.db import connection
from django.http import HttpRequest, StreamingHttpResponse


def free_connection() -> None:
    """Give the database connection back before something is waited for that may take long."""
    if not connection.in_atomic_block:
        connection.close()


def download_answer(
    request: HttpRequest,
    chunks: Iterator[bytes],
    *,
    content_type: str,
    file_name: str,
    size_bytes: int | None = None,
) -> StreamingHttpResponse:
    """Return the download, streamed; with `size_bytes` its receiver notices when it was cut."""
    answer = streamed_answer(request, chunks, content_type=content_type)
    answer["Content-Disposition"] = f'attachment; filename="{file_name}"'
    answer["Cache-Control"] = "no-store"
    if size_bytes is not None:
        answer["Content-Length"] = str(size_bytes)
    return answer


def streamed_answer(
    request: HttpRequest, chunks: Iterator[bytes], *, content_type: str
) -> StreamingHttpResponse:
    """Return the answer; under ASGI each piece is made in the request's own thread.

    What fails before the first piece is raised here, while an error can still be answered. No
    database connection is held between two pieces, so `chunks` may not read on in one query.
    """
    free_connection()
    begun = chain([first] if (first := next(chunks, None)) is not None else [], chunks)
    # Given a plain iterator, Django would gather all of it in memory under ASGI.
    paced = _paced(begun) if isinstance(request, ASGIRequest) else begun
    return StreamingHttpResponse(paced, content_type=content_type)


async def _paced(chunks: Iterator[bytes]) -> AsyncIterator[bytes]:
    # Not in a thread of a pool, whose database connection nobody would give back.
    pull = sync_to_async(_pulled)
    while (chunk := await pull(chunks)) is not None:
        yield chunk


def _pulled(chunks: Iterator[bytes]) -> bytes | None:
    try:
        return next(chunks, None)
    finally:
        free_connection()
