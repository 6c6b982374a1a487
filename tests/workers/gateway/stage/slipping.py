"""`python -m tests.workers.gateway.stage.slipping`: a gateway with mistakes in it.

Each is in a step of the real one and happens where the request's query or the engine names it.
"""

import sys
from collections.abc import Callable
from typing import Any

from workers.gateway import __main__, exchange, gateway, local_answers, routes_sync
from workers.gateway.client_connection import ClientConnection
from workers.gateway.reply import Reply

MISTAKE = "a mistake in the gateway"


def slip_where(place: Any, name: str, fits: Callable[..., bool]) -> None:
    """Let a step raise where its arguments fit."""
    step = getattr(place, name)

    def slipping(*args: Any, **named: Any) -> Any:
        if fits(*args, **named):
            raise RuntimeError(MISTAKE)
        return step(*args, **named)

    setattr(place, name, slipping)


def asks_for(step: str) -> Callable[..., bool]:
    """Whether an argument is a request whose query names the step."""
    query = f"slip={step}".encode()
    return lambda *args: any(getattr(each, "query", b"") == query for each in args)


if __name__ == "__main__":
    slip_where(gateway.Gateway, "admit", asks_for("admit"))
    slip_where(gateway.Gateway, "begin", asks_for("begin"))
    slip_where(gateway, "prepare", lambda body, *_: b"slip-in-prepare" in body)
    slip_where(exchange, "engine_head", lambda request, *_, **__: request.query == b"slip=ask")
    slip_where(Reply, "feed", lambda _, data: b"slip-in-feed" in data)
    slip_where(Reply, "end", lambda reply: b"x-slip" in dict(reply._headers))
    slip_where(local_answers, "health", lambda request, **_: request.query == b"slip=health")
    slip_where(routes_sync, "read", lambda payload: b"slip-in-read" in payload)
    slip_where(ClientConnection, "tick", lambda *_: True)
    sys.exit(__main__.main())
