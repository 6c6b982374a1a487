"""Django under ASGI, with an end to every answer."""

from typing import Any

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIHandler
from django.http.response import HttpResponseBase


class WebHandler(ASGIHandler):
    """Closes an answer whose sending failed: Django leaves it open, with its connection."""

    async def send_response(self, response: HttpResponseBase, send: Any) -> None:
        """Send the answer."""
        try:
            await super().send_response(response, send)
        except Exception:
            await sync_to_async(response.close)()
            raise
