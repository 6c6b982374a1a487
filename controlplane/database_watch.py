"""Gives a database up that has gone silent, and bears with one that is only slow.

A query waits as long as it takes while the database answers someone. Silence is counted in turns
of the waiting itself, so that a process that was stopped blames nobody else for its own absence.
"""

import logging
import threading
from collections.abc import Callable, Generator
from typing import Any, TypeVar

import psycopg

from controlplane.clock import SYSTEM, Clock
from controlplane.pooled_connection import PooledConnection

Result = TypeVar("Result")
Steps = Generator[Any, Any, Result]
SILENT_TURNS = 12
"""Of 0.1 s each, as psycopg waits."""
_PAUSE_SECONDS = 0.25
_NOTHING_CAME = 0
_log = logging.getLogger(__name__)


class DatabaseWatch:
    """Whether the database answers, found out on a thread and a connection of its own."""

    def __init__(self, ask_database: Callable[[], None], *, clock: Clock = SYSTEM) -> None:
        self.answers = 0
        self.is_away = False
        self._ask_database = ask_database
        self._clock = clock
        self._work_waits = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def ask(self) -> int:
        """Have the database asked, and return how often it has answered until now."""
        answers = self.answers
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._watch, name="database-watch", daemon=True
                )
                self._thread.start()
        self._work_waits.set()
        return answers

    def give_up(self) -> None:
        """Count the database as away until it answers."""
        if not self.is_away:
            _log.warning("the database does not answer; requests are refused until it does")
        self.is_away = True
        # An answer that came just now has been overwritten: it is asked for again.
        self.ask()

    def _watch(self) -> None:
        while True:
            self._work_waits.wait()
            self._work_waits.clear()
            while not self._has_answered():
                self._clock.sleep(_PAUSE_SECONDS)
            self._clock.sleep(_PAUSE_SECONDS)

    def _has_answered(self) -> bool:
        try:
            self._ask_database()
        except psycopg.Error as error:
            # Whoever refuses a connection in words is there.
            if "FATAL:" not in str(error):
                return False
        self.answers += 1
        if self.is_away:
            _log.warning("the database answers again")
        self.is_away = False
        return True


def ask_on_new_connection(parameters: Callable[[], dict[str, Any]]) -> Callable[[], None]:
    """Return what asks the database one thing on a connection that it closes again."""

    def ask() -> None:
        with psycopg.connect(**{**parameters(), "connect_timeout": 2}) as connection:
            connection.execute("SELECT 1")

    return ask


def watched_connection(watch: DatabaseWatch) -> type[psycopg.Connection[Any]]:
    """Return the class of connections that end, with an OperationalError, once it is away."""

    class WatchedConnection(PooledConnection):
        def wait(self, gen: Steps[Result], *args: Any, **options: Any) -> Result:
            if watch.is_away:
                raise self.given_up()
            return super().wait(_watched(gen, watch, self), *args, **options)

        def given_up(self) -> psycopg.OperationalError:
            # Closed, since the answer to what was asked could still come, to someone else.
            self.pgconn.finish()
            return psycopg.OperationalError("the database does not answer")

    return WatchedConnection


def _watched(gen: Steps[Result], watch: DatabaseWatch, connection: Any) -> Steps[Result]:
    patience = _Patience(watch)
    try:
        request = next(gen)
        while True:
            came = yield request
            if came == _NOTHING_CAME and patience.is_over():
                raise connection.given_up()
            request = gen.send(came)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]


class _Patience:
    """How many turns one query has waited in which nobody had an answer."""

    def __init__(self, watch: DatabaseWatch) -> None:
        self._watch = watch
        self._turns = 0
        self._answers = 0

    def is_over(self) -> bool:
        """Count a turn, and return whether the database is away."""
        if self._turns == 0:
            self._answers = self._watch.ask()
        self._turns += 1
        if self._turns < SILENT_TURNS:
            return self._watch.is_away
        self._turns = 0
        if self._watch.answers == self._answers:
            self._watch.give_up()
        return self._watch.is_away
