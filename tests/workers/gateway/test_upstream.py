"""Idle connections to engines are taken again only while an engine cannot have closed them."""

import asyncio
from unittest.mock import Mock

import pytest

from workers.gateway.settings import Bounds
from workers.gateway.snapshot import Replica
from workers.gateway.upstream import Upstream, UpstreamConnection

BOUNDS = Bounds()
REPLICA = Replica(id="rep00", host="127.0.0.1", port=9, address="rep00@127.0.0.1:9")


@pytest.fixture
def upstream() -> Upstream:
    return Upstream(REPLICA, BOUNDS)


def idle(upstream: Upstream, *, closing: bool = False) -> tuple[UpstreamConnection, Mock]:
    """Return a connection that has just been given back, and its transport."""
    transport = Mock(spec=asyncio.Transport, is_closing=lambda: closing)
    connection = UpstreamConnection(upstream)
    connection.connection_made(transport)
    upstream.give_back(connection)
    return connection, transport


def test_the_connection_used_last_is_taken_first(upstream: Upstream) -> None:
    first, second = (idle(upstream)[0] for _ in range(2))
    assert upstream.take_idle(second.idle_since) is second
    assert upstream.take_idle(second.idle_since) is first
    assert upstream.take_idle(second.idle_since) is None


def test_after_four_seconds_it_is_closed_instead(upstream: Upstream) -> None:
    assert BOUNDS.upstream_idle_seconds == 4.0, "engines close after 5"
    connection, transport = idle(upstream)
    assert upstream.take_idle(connection.idle_since + 4.0) is None
    transport.close.assert_called_once_with()


def test_one_that_an_engine_has_closed_is_not_taken(upstream: Upstream) -> None:
    connection, _ = idle(upstream, closing=True)
    assert upstream.take_idle(connection.idle_since) is None


def test_a_sweep_closes_the_old_ones_and_keeps_the_rest(upstream: Upstream) -> None:
    (old, closed), (new, kept) = idle(upstream), idle(upstream)
    new.idle_since = old.idle_since + 1
    upstream.close_idle(older_than=old.idle_since)
    closed.close.assert_called_once_with()
    kept.close.assert_not_called()
    assert upstream.take_idle(new.idle_since) is new
