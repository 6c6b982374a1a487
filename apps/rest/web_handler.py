"""Django under ASGI: a request's middleware and view on one thread, and an end to every answer."""

from collections.abc import Callable
from typing import Any

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIHandler
from django.http import HttpRequest
from django.http.response import HttpResponseBase


class WebHandler(ASGIHandler):
    """Goes to a thread once a request, and closes an answer whose sending failed.

    Django goes there and back for each middleware, which takes longer than most of our views, and
    leaves such an answer open, with its connection.
    """

    def load_middleware(self, is_async: bool = False) -> None:
        """Have every middleware called as sync code, from one thread."""
        super().load_middleware(is_async=False)
        chain: Callable[[HttpRequest], HttpResponseBase] = self._middleware_chain
        self._middleware_chain: Any = sync_to_async(chain, thread_sensitive=True)

    async def send_response(self, response: HttpResponseBase, send: Any) -> None:
        try:
            await super().send_response(response, send)
        except Exception:
            await sync_to_async(response.close)()
            raise
