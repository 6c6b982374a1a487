"""How often a request goes from the web process's loop to a thread."""

import asyncio
from typing import Any

import pytest
from asgiref.sync import SyncToAsync
from django.conf import settings
from django.test import override_settings

from apps.rest.web_handler import WebHandler

_SCOPE: dict[str, Any] = {
    "type": "http",
    "http_version": "1.1",
    "method": "GET",
    "path": "/internal/v1/nothing-is-here",
    "query_string": b"",
    "scheme": "http",
    "headers": [(b"host", b"localhost")],
    "client": ("127.0.0.1", 1),
    "server": ("127.0.0.1", 8000),
}


@pytest.fixture
def trips(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What was called on a thread."""
    seen: list[object] = []
    go = SyncToAsync.__call__

    async def noted(self: Any, *args: Any, **options: Any) -> Any:
        seen.append(self.func)
        return await go(self, *args, **options)

    monkeypatch.setattr(SyncToAsync, "__call__", noted)
    return seen


def test_middleware_takes_no_trip_of_its_own(trips: list[object]) -> None:
    assert asyncio.run(_status()) == 404
    with_all = len(trips)
    trips.clear()
    with override_settings(MIDDLEWARE=[]):
        assert asyncio.run(_status()) == 404
    assert len(settings.MIDDLEWARE) > 10
    assert with_all == len(trips)


async def _status() -> int:
    sent: list[Any] = []
    request = iter([{"type": "http.request"}])

    async def receive() -> Any:
        return next(request, None) or await asyncio.Event().wait()

    async def send(message: Any) -> None:
        sent.append(message)

    await WebHandler()(_SCOPE, receive, send)
    return int(sent[0]["status"])
