"""Downloads that are made while they are sent."""

import asyncio
import io
import threading
from collections.abc import Iterator

from asgiref.sync import ThreadSensitiveContext, sync_to_async
from django.core.handlers.asgi import ASGIRequest

from apps.rest.streaming import download_answer


def threads() -> Iterator[bytes]:
    for _ in range(2):
        yield str(threading.get_ident()).encode()


def test_every_piece_is_made_in_the_requests_own_thread_where_its_database_connection_is() -> None:
    async def sent() -> tuple[int, list[bytes]]:
        scope = {"type": "http", "method": "GET", "path": "/", "headers": []}
        request = ASGIRequest(scope, io.BytesIO())
        async with ThreadSensitiveContext():
            own = await sync_to_async(threading.get_ident)()
            answer = await sync_to_async(download_answer)(
                request, threads(), content_type="text/plain", file_name="threads.txt"
            )
            return own, [chunk async for chunk in answer]

    own, chunks = asyncio.run(sent())
    assert own != threading.get_ident()
    assert chunks == [str(own).encode()] * 2
