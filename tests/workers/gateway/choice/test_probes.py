"""A replica that failed is asked by the gateway itself before a client's request is sent to it."""

import asyncio
import socket

import pytest

from tests.manual_clock import ManualClock
from workers.gateway.choice.health import Health
from workers.gateway.choice.pool import UpstreamPool
from workers.gateway.choice.probes import Probes, is_well
from workers.gateway.settings import Bounds
from workers.gateway.snapshot import Replica
from workers.gateway.upstream import Upstream

BOUNDS = Bounds()


def replica(port: int) -> Replica:
    return Replica(id="rep00", host="127.0.0.1", port=port, address=f"rep00@127.0.0.1:{port}")


class Stand:
    """One ejected replica whose probe is answered as the test says."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        pool = UpstreamPool(BOUNDS, clock=self.clock)
        self.upstream: Upstream = pool.of(replica(9))
        self.probes = Probes(pool, asks=self._answer, clock=self.clock)
        self.lives, self.asked = True, 0

    @property
    def health(self) -> Health:
        return self.upstream.health

    def look(self) -> None:
        for each in self.probes.due():
            asyncio.run(self.probes.ask(each))

    async def _answer(self, _: Replica) -> bool:
        self.asked += 1
        return self.lives


@pytest.fixture
def stand() -> Stand:
    return Stand()


def test_one_that_failed_is_asked_once_it_has_rested_and_then_tried(stand: Stand) -> None:
    stand.look()
    assert stand.asked == 0, "nothing is held against it"
    stand.health.failed("reset")
    stand.look()
    assert stand.asked == 0, "it rests"
    stand.clock.advance(BOUNDS.eject_seconds)
    assert not stand.health.may_try
    stand.look()
    assert stand.asked == 1
    assert stand.health.may_try
    stand.look()
    assert stand.asked == 1, "a real request says the rest"
    stand.health.failed("reset")
    assert not stand.health.may_try


def test_one_that_fails_on_rests_for_twice_as_long_each_time_until_it_answers(stand: Stand) -> None:
    stand.lives = False
    stand.health.failed("connect_refused")
    rests = []
    for _ in range(8):
        rests.append(stand.health.ejected_until - stand.clock.monotonic())
        stand.clock.advance(rests[-1])
        stand.look()
    assert rests == [1, 2, 4, 8, 16, 32, 32, 32]
    assert stand.health.reason == "connect_refused"
    stand.health.ended(200)
    stand.health.failed("reset")
    assert stand.health.ejected_until - stand.clock.monotonic() == 1


def test_a_request_that_was_answered_meanwhile_counts_more_than_a_missed_probe(
    stand: Stand,
) -> None:
    stand.health.failed("reset")
    stand.clock.advance(BOUNDS.eject_seconds)

    async def answered_meanwhile(_: Replica) -> bool:
        stand.health.ended(200)
        return False

    stand.probes._asks = answered_meanwhile
    stand.look()
    assert stand.health.is_well


@pytest.mark.parametrize(
    ("said", "lives"),
    [
        (b"HTTP/1.1 200 OK\r\n\r\n", True),
        (b"HTTP/1.1 404 Not Found\r\n\r\n", True),
        (b"HTTP/1.1 503 Service Unavailable\r\n\r\n", False),
        (b"SSH-2.0-OpenSSH\r\n", False),
        (b"HTTP/1.1 two\r\n\r\n", False),
        (b"x" * 5000, False),
        (b"", False),
    ],
)
def test_what_answers_with_anything_but_its_own_error_lives(said: bytes, lives: bool) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(said)
        writer.close()

    async def ask() -> bool:
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        async with server:
            return await is_well(replica(server.sockets[0].getsockname()[1]))

    assert asyncio.run(ask()) is lives


def test_where_nobody_listens_nobody_lives() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        assert not asyncio.run(is_well(replica(taken.getsockname()[1])))
