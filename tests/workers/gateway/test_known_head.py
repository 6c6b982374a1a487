"""A head that a connection sent before is not decided anew, unless anything has changed."""

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.workers.gateway.stage.routes import CHAT, KEY, digest, key_row, routes
from workers.gateway.admitting import Admitting
from workers.gateway.known_head import LONGEST_KEPT_BYTES
from workers.gateway.known_routes import KnownRoutes
from workers.gateway.refusals import Refusal, Refused
from workers.gateway.request import Request
from workers.gateway.request_reader import RequestReader
from workers.gateway.settings import Bounds
from workers.gateway.snapshot import Share, Snapshot
from workers.gateway.snapshot_reading import read
from workers.gateway.spend.counts import SpendCounts

ENDS_AT = 100.0


class Connection:
    """One connection's reader, and the admission that requests on it get."""

    def __init__(self) -> None:
        self.bounds, self.now = Bounds(), 0.0
        self.known = KnownRoutes()
        self.take()
        self._admitting = Admitting(self.known, SpendCounts(), lambda: self.now)
        self._reader = RequestReader(self, self)
        self._complete: list[Request] = []

    def take(self, **changes: Any) -> Snapshot:
        """Have the gateway told of new routes."""
        keys = {digest(KEY): key_row("keyaaaaa", expires_at=ENDS_AT, **changes)}
        snapshot = read(json.dumps(routes(1) | {"keys": keys}).encode())
        self.known.take(snapshot)
        return snapshot

    def asks(
        self,
        body: bytes = b"{}",
        path: str = CHAT,
        method: str = "POST",
        key: str = KEY,
        more: str = "",
    ) -> Request:
        head = f"{method} {path} HTTP/1.1\r\nhost: g\r\nauthorization: Bearer {key}\r\n{more}"
        self._reader.feed(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
        return self._complete[-1]

    # What its reader asks and tells.

    def admit(self, request: Request) -> None:
        try:
            self._admitting.decide(request)
        except Refused as refused:
            request.refusal = refused.refusal

    def reserve(self, _: Request) -> None: ...

    def request_is_complete(self, request: Request) -> None:
        self._complete.append(request)

    def head_is_refused(self, request: Request, _: Refusal) -> None:
        self._complete.append(request)

    def may_send_body(self) -> None: ...


@pytest.fixture
def connection() -> Connection:
    return Connection()


def test_the_same_head_with_another_body_is_admitted_as_before(connection: Connection) -> None:
    first, second = connection.asks(), connection.asks(b'{"messages":[]}')
    assert first.admission is not None
    assert second.admission is first.admission, "and so nothing was decided anew"
    assert (second.content_length, second.body) == (15, [b'{"messages":[]}'])
    assert (second.path, second.method) == (CHAT, b"POST")


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        ({"path": CHAT.replace("modelaaa", "modelzzz")}, 404),
        ({"method": "PUT"}, 405),
        ({"key": "another0.0123456789abcdef"}, 401),
        ({"more": "x-enginehouse-traffic: benchmark\r\n"}, 403),
        ({"more": "host: g\r\n"}, 400),
    ],
)
def test_a_head_that_says_something_else_is_decided_by_itself(
    connection: Connection, asked: dict[str, str], status: int
) -> None:
    connection.asks()
    outcome = connection.asks(**asked)
    assert outcome.refusal is not None
    assert outcome.refusal.status == status


def test_new_routes_and_the_end_of_a_key_count_from_the_next_request_on(
    connection: Connection,
) -> None:
    assert connection.asks().refusal is None
    connection.take(environments=["staging"])
    assert connection.asks().refusal.status == 404
    connection.take()
    assert connection.asks().refusal is None
    connection.known.hold = False
    assert connection.asks().refusal.code == "routes_unconfirmed"
    connection.known.hold = True
    connection.now = ENDS_AT
    assert connection.asks().refusal.status == 401


def test_where_an_environment_rolls_each_request_is_chosen_for(connection: Connection) -> None:
    snapshot = connection.take()
    model = snapshot.models["modelaaa"]
    share = Share(candidate="deploy02", percent=50, by_header=False)
    rolls = replace(model, shares={"production": share})
    connection.known.take(replace(snapshot, models={model.id: rolls}))
    first, second = connection.asks(), connection.asks()
    assert first.admission is not None
    assert second.admission is not first.admission


def test_a_key_with_a_limit_of_money_is_looked_at_each_time(connection: Connection) -> None:
    connection.take(limits={"spend": {"left": 10.0, "measured_at": 0.0, "hours": []}})
    first, second = connection.asks(), connection.asks()
    assert first.admission is not None
    assert second.admission is not first.admission


def test_a_long_head_is_not_kept_on_a_connection_that_idles(connection: Connection) -> None:
    more = f"x-long: {'y' * LONGEST_KEPT_BYTES}\r\n"
    first, second = connection.asks(more=more), connection.asks(more=more)
    assert second.admission is not first.admission
    assert second.refusal is None
