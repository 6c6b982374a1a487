"""What is over is freed at once: the collector, which seldom comes, is not waited for."""

import gc
from collections.abc import Iterator
from contextlib import suppress

import pytest

from tests.waiting import wait_for
from tests.workers.gateway.stage.connections import read_until_closed, request_bytes
from tests.workers.gateway.stage.mad_engines import HEAD, Endless
from tests.workers.gateway.stage.scripts import answers, streams
from workers.gateway.client_connection import ClientConnection
from workers.gateway.exchange import Exchange
from workers.gateway.request_reader import RequestReader
from workers.gateway.upstream import UpstreamConnection

# Asked by `type`: for `isinstance` a lazy object of somebody's would be made.
OF_A_CONNECTION = (ClientConnection, RequestReader, Exchange, UpstreamConnection)
CLOSING = "connection: close\r\n"
TOO_MANY_HEADERS = b"GET / HTTP/1.1\r\n" + b"x: y\r\n" * 5000


@pytest.fixture
def nothing_is_collected() -> Iterator[None]:
    """What was there before is seen by no look any more, which so takes a moment."""
    gc.collect()
    gc.freeze()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize(
    ("script", "request_"),
    [
        (answers, request_bytes(extra=CLOSING)),
        (streams, request_bytes(b'{"messages":[],"stream":true}', extra=CLOSING)),
        (Endless(HEAD, b"x: y\r\n" * 1000), request_bytes(extra=CLOSING)),
        (answers, request_bytes(key="none", extra=CLOSING)),
        (answers, TOO_MANY_HEADERS),
        (answers, b"\x00\xff"),
    ],
    ids=["answer", "stream", "mad engine", "refused", "too many headers", "nonsense"],
)
@pytest.mark.usefixtures("nothing_is_collected")
def test_a_connection_that_ended_leaves_nothing_for_the_collector(serve, script, request_):
    gateway, _ = serve(script)

    with gateway.connect() as client:
        with suppress(OSError):
            client.sendall(request_)
        read_until_closed(client)

    wait_for(lambda: not gateway.clients, what="the end of the connection")
    gateway.advance(gateway.inner.bounds.upstream_idle_seconds + 1)
    wait_for(lambda: _left() == [], what=lambda: f"freed objects: {_left()}")


def _left() -> list[str]:
    types = (type(each) for each in gc.get_objects())
    return [each.__name__ for each in types if each in OF_A_CONNECTION]
