"""What a database's URL comes to."""

import threading
from typing import Any

import pytest
from psycopg.conninfo import make_conninfo
from psycopg_pool import ConnectionPool, PoolTimeout, TooManyRequests

from controlplane.database_url import database
from tests.waiting import DEADLINE_SECONDS, wait_for


def parameters(url: str) -> dict[str, Any]:
    """Return what libpq is given beside the address."""
    options: Any = database(url)["OPTIONS"]
    return {name: value for name, value in options.items() if name != "pool"}


def test_a_database_whose_host_goes_dark_is_given_up_within_seconds() -> None:
    given = parameters("postgresql://user:password@host:5432/name")
    make_conninfo(**given)  # libpq knows all of it
    assert given["connect_timeout"] == 5
    assert given["tcp_user_timeout"] == 10_000
    probing = given["keepalives_interval"] * given["keepalives_count"]
    assert given["keepalives_idle"] + probing < 15


def test_what_the_url_says_beside_the_address_reaches_libpq() -> None:
    given = parameters("postgresql://user@host/name?sslmode=verify-full&tcp_user_timeout=3000")
    assert given["sslmode"] == "verify-full"
    assert given["tcp_user_timeout"] == "3000"


def test_a_socket_folder_is_an_address_and_no_parameter() -> None:
    entry = database("postgresql://user@/name?host=%2Ftmp%2Fa%20b")
    assert entry["HOST"] == "/tmp/a b"
    assert "host" not in parameters("postgresql://user@/name?host=%2Ftmp%2Fa%20b")


def test_a_pool_finds_a_database_that_returns_also_when_many_have_given_up_waiting(
    postgres_server: str,
) -> None:
    place = {"url": "postgresql://postgres@/postgres?host=/nowhere"}
    options: Any = database(postgres_server)["OPTIONS"]
    has_given_up = threading.Event()

    def give_up(pool: ConnectionPool) -> None:
        has_given_up.set()
        options["pool"]["reconnect_failed"](pool)

    given = {
        **options["pool"],
        **{"reconnect_timeout": 0.01, "max_waiting": 1, "reconnect_failed": give_up},
    }
    with ConnectionPool(lambda: place["url"], **given) as pool:
        with pytest.raises(PoolTimeout):
            pool.getconn(timeout=0.01)
        with pytest.raises(TooManyRequests):
            pool.getconn(timeout=0.01)
        assert has_given_up.wait(DEADLINE_SECONDS)
        place["url"] = postgres_server
        wait_for(lambda: pool.get_stats()["pool_available"], what="a connection")
        with pool.connection() as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
