"""Which databases are given up: silent ones alone, by the turns of who waits for them."""

import threading
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from controlplane.database_watch import (
    SILENT_TURNS,
    DatabaseWatch,
    ask_on_new_connection,
    watched_connection,
)
from tests.waiting import DEADLINE_SECONDS, wait_for


class Database:
    """Answers while it is let."""

    def __init__(self) -> None:
        self.answers = threading.Event()
        self.is_asked = threading.Event()

    def ask(self) -> None:
        self.is_asked.set()
        assert self.answers.wait(DEADLINE_SECONDS)


@pytest.fixture
def database() -> Iterator[Database]:
    made = Database()
    yield made
    made.answers.set()  # or its thread would hang for ever


def _connected(url: str, watch: DatabaseWatch) -> psycopg.Connection[Any]:
    return watched_connection(watch).connect(url, autocommit=True)


def test_a_query_ends_once_nobody_has_had_an_answer_for_so_many_turns(
    postgres_server: str, database: Database
) -> None:
    watch = DatabaseWatch(database.ask)
    connection = _connected(postgres_server, watch)
    turns = _counted(watch)
    with pytest.raises(psycopg.OperationalError, match="the database does not answer"):
        connection.execute("SELECT pg_sleep(600)")
    assert len(turns) == 2  # at the first turn, and when it was given up
    assert connection.closed
    assert watch.is_away


def test_a_slow_query_is_waited_for_while_the_database_answers_others(postgres_server: str) -> None:
    request = ask_on_new_connection(lambda: {"conninfo": postgres_server})
    watch = DatabaseWatch(request)
    with _connected(postgres_server, watch) as connection:
        rounds = 3
        seconds = rounds * SILENT_TURNS * 0.1
        assert connection.execute(f"SELECT 1 FROM pg_sleep({seconds})").fetchone() == (1,)
    assert watch.answers >= rounds - 1
    assert not watch.is_away


def test_while_it_is_away_nobody_waits_and_its_first_answer_ends_that(
    postgres_server: str, database: Database
) -> None:
    watch = DatabaseWatch(database.ask)
    connection = _connected(postgres_server, watch)
    watch.give_up()
    with pytest.raises(psycopg.OperationalError, match="the database does not answer"):
        connection.execute("SELECT 1")
    database.answers.set()
    wait_for(lambda: not watch.is_away, what="the answer to be heard")
    with _connected(postgres_server, watch) as another:
        assert another.execute("SELECT 1").fetchone() == (1,)


def test_who_refuses_a_connection_in_words_is_there(postgres_server: str) -> None:
    missing = ask_on_new_connection(lambda: {"conninfo": postgres_server, "dbname": "missing"})
    watch = DatabaseWatch(missing)
    watch.give_up()
    wait_for(lambda: not watch.is_away, what="the refusal to count as an answer")


def _counted(watch: DatabaseWatch) -> list[int]:
    requests: list[int] = []
    ask = watch.ask

    def counted() -> int:
        requests.append(len(requests))
        return ask()

    watch.ask = counted  # type: ignore[method-assign]
    return requests
