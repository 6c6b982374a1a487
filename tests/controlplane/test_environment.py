"""What a database's URL comes to."""

from typing import Any

from psycopg.conninfo import make_conninfo

from controlplane.environment import database


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
