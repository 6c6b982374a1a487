"""A pool asks the database whether a connection lives only where that is not known."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg_pool import ConnectionPool

from controlplane.pooled_connection import USED_LATELY_SECONDS, PooledConnection
from tests.manual_clock import ManualClock
from tests.waiting import wait_for

Pool = ConnectionPool[Any]


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def pool(postgres_server: str, clock: ManualClock) -> Iterator[Pool]:
    """One connection, checked as Django has it checked."""

    class Timed(PooledConnection):
        pass

    Timed.clock = clock
    with ConnectionPool(
        postgres_server,
        min_size=1,
        max_size=1,
        kwargs={"autocommit": True},
        connection_class=Timed,
        check=ConnectionPool.check_connection,
    ) as made:
        with made.connection() as connection:
            connection.execute("SELECT 1")
        yield made


def test_one_that_was_used_just_now_is_not_asked(pool: Pool) -> None:
    with pool.connection() as connection:
        cursor = connection.execute("")
    assert cursor.pgresult is None


def test_one_that_lay_for_long_is_asked(pool: Pool, clock: ManualClock) -> None:
    with pool.connection() as connection:
        clock.advance(USED_LATELY_SECONDS + 1)
        request = connection.execute("")
        again = connection.execute("")
    assert request.pgresult is not None
    assert again.pgresult is None


def test_one_that_the_database_has_ended_is_replaced(pool: Pool, postgres_server: str) -> None:
    with pool.connection() as connection:
        ended, pid = connection, connection.info.backend_pid
    with psycopg.connect(postgres_server, autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(%s)", [pid])
    wait_for(ended._has_news, what="the word that it is over")
    with pool.connection() as connection:
        assert connection.info.backend_pid != pid
        assert connection.execute("SELECT 1").fetchone() == (1,)
