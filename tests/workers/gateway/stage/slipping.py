"""`python -m tests.workers.gateway.stage.slipping`: a gateway with mistakes in it.

Each is in a step of the real one and happens where the request's query or the engine names it.
"""

import sys
from collections.abc import Callable
from typing import Any

from workers.gateway import __main__, beginning, exchange, gateway, local_answers
from workers.gateway.client_connection import ClientConnection
from workers.gateway.reply import Reply
from workers.gateway.routes_table import RoutesTable

MISTAKE = "a mistake in the gateway"


Fits = Callable[..., bool]
Setter = Callable[[Any, str, Any], object]


def put_in_mistakes(set_attribute: Setter = setattr) -> None:
    """Let these steps raise where their arguments fit."""
    for place, name, fits in MISTAKES:
        set_attribute(place, name, _slipping(getattr(place, name), fits))


def _slipping(step: Callable[..., Any], fits: Fits) -> Callable[..., Any]:
    def slipping(*args: Any, **named: Any) -> Any:
        if fits(*args, **named):
            raise RuntimeError(MISTAKE)
        return step(*args, **named)

    slipping.__qualname__ = step.__qualname__
    return slipping


def _asks_for(step: str) -> Fits:
    """Whether an argument is a request whose query names the step."""
    query = f"slip={step}".encode()
    return lambda *args: any(getattr(each, "query", b"") == query for each in args)


MISTAKES: tuple[tuple[Any, str, Fits], ...] = (
    (gateway.Gateway, "admit", _asks_for("admit")),
    (gateway.Gateway, "begin", _asks_for("begin")),
    (beginning, "prepare", lambda body, *_: b"slip-in-prepare" in body),
    (exchange, "engine_head", lambda request, *_, **__: request.query == b"slip=ask"),
    (Reply, "feed", lambda _, data: b"slip-in-feed" in data),
    (Reply, "end", lambda reply: b"x-slip" in dict(reply._headers)),
    (local_answers, "health", lambda request, **_: request.query == b"slip=health"),
    (RoutesTable, "take", lambda _, payload: b"slip-in-read" in payload),
    (ClientConnection, "tick", lambda *_: True),
)


if __name__ == "__main__":
    put_in_mistakes()
    sys.exit(__main__.main())
