"""Idle connections to engines are taken again only while an engine cannot have closed them."""

import asyncio
from unittest.mock import Mock

import pytest

from controlplane.clock import SYSTEM
from tests.manual_clock import ManualClock
from workers.gateway.settings import Bounds
from workers.gateway.snapshot import Replica
from workers.gateway.upstream import Receiver, Upstream, UpstreamConnection

BOUNDS = Bounds()
REPLICA = Replica(id="rep00", host="127.0.0.1", port=9, address="rep00@127.0.0.1:9")


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def upstream(clock: ManualClock) -> Upstream:
    return Upstream(REPLICA, BOUNDS, clock=clock)


def idle(upstream: Upstream, *, closing: bool = False) -> tuple[UpstreamConnection, Mock]:
    """Return a connection that has just been given back, and its transport."""
    transport = Mock(spec=asyncio.Transport, is_closing=lambda: closing)
    connection = UpstreamConnection(upstream)
    connection.connection_made(transport)
    upstream.give_back(connection)
    return connection, transport


def test_the_connection_used_last_is_taken_first(upstream: Upstream, clock: ManualClock) -> None:
    first, second = (idle(upstream)[0] for _ in range(2))
    assert upstream.take_idle(clock.monotonic()) is second
    assert upstream.take_idle(clock.monotonic()) is first
    assert upstream.take_idle(clock.monotonic()) is None


def test_after_four_seconds_it_is_closed_instead(upstream: Upstream, clock: ManualClock) -> None:
    assert BOUNDS.upstream_idle_seconds == 4.0, "engines close after 5"
    _, transport = idle(upstream)
    clock.advance(4)
    assert upstream.take_idle(clock.monotonic()) is None
    transport.close.assert_called_once_with()


def test_one_that_an_engine_has_closed_is_not_taken(upstream: Upstream, clock: ManualClock) -> None:
    idle(upstream, closing=True)
    assert upstream.take_idle(clock.monotonic()) is None


def test_where_nobody_listens_any_more_its_cache_has_gone_with_it(upstream: Upstream) -> None:
    before, receiver = upstream.cache, Mock(spec=Receiver)
    asyncio.run(upstream.connect(receiver))
    receiver.connect_failed.assert_called_once_with("connect_refused")
    assert before == REPLICA.address
    assert upstream.cache == f"{REPLICA.address}#1"


def test_a_sweep_closes_the_old_ones_and_keeps_the_rest(
    upstream: Upstream, clock: ManualClock
) -> None:
    _, closed = idle(upstream)
    clock.advance(1)
    new, kept = idle(upstream)
    upstream.close_idle(older_than=clock.monotonic() - 1)
    closed.close.assert_called_once_with()
    kept.close.assert_not_called()
    assert upstream.take_idle(clock.monotonic()) is new


def test_an_engine_that_does_not_take_a_connection_is_given_up(
    upstream: Upstream, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    receiver = Mock(spec=Receiver)

    async def connect() -> None:
        loop = asyncio.get_running_loop()
        never = loop.create_future()
        monkeypatch.setattr(loop, "create_connection", lambda *_, **_options: never)
        connecting = loop.create_task(upstream.connect(receiver))
        await SYSTEM.pause(0)
        clock.advance(BOUNDS.connect_seconds - 1)
        await SYSTEM.pause(0)
        assert not connecting.done()
        clock.advance(1)
        await connecting

    asyncio.run(connect())
    receiver.connect_failed.assert_called_once_with("connect_timeout")
