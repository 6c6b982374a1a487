"""One time for all hosts that write rows: the database's, whatever their own clocks say.

Each process asks for it when it opens a connection, once a minute at most, and goes on from there
by a clock that nobody sets. What decides within one statement asks the database itself.
"""

import logging
from contextlib import suppress
from typing import Any

from django.db import DatabaseError
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created

from controlplane.clock import SYSTEM, Clock, tell_database_time
from controlplane.domain.skew import noticed, skew_words

ASKED_AGAIN_SECONDS = 60.0
SLOW_SECONDS = 0.5
"""An answer that took longer says too little of when it was given."""
_ASK = "SELECT extract(epoch FROM clock_timestamp())::float8"
_APART = (
    "the clock of this host is %s%s the database's, whose time is gone by; set it, or certificates "
    "and signed requests may be refused"
)
_log = logging.getLogger(__name__)


class DatabaseClock:
    """Asks connections for the database's time, and tells the seam of time."""

    def __init__(self, *, clock: Clock = SYSTEM) -> None:
        self._clock = clock
        self._queried_at: float | None = None
        self._last_warning = ""

    def ask(self, connection: BaseDatabaseWrapper) -> None:
        """Ask where a minute has passed; a connection that fails here fails its user at once."""
        began = self._clock.monotonic()
        if self._queried_at is not None and began - self._queried_at < ASKED_AGAIN_SECONDS:
            return
        with suppress(DatabaseError), connection.cursor() as cursor:
            cursor.execute(_ASK)
            (database_seconds,) = cursor.fetchone()
            self._take(float(database_seconds), took=self._clock.monotonic() - began)

    def _take(self, database_seconds: float, *, took: float) -> None:
        if self._queried_at is not None and took > SLOW_SECONDS:
            return
        tell_database_time(database_seconds + took / 2)
        self._queried_at = self._clock.monotonic()
        self._say(skew_words(noticed(self._clock.time() - database_seconds)))

    def _say(self, words: str) -> None:
        if words == self._last_warning:
            return
        self._last_warning = words
        if words:
            _log.warning(_APART, words, " of" if words.endswith("ahead") else "")
        else:
            _log.info("the clock of this host and the database's agree again")


_of_this_process = DatabaseClock()


def _opened(connection: BaseDatabaseWrapper, **_details: Any) -> None:
    _of_this_process.ask(connection)


def follow_database_clock() -> None:
    connection_created.connect(_opened, dispatch_uid="database-clock")


def follow_own_clock() -> None:
    """Have this process go by its own clock, as tests do that move it."""
    connection_created.disconnect(dispatch_uid="database-clock")
    tell_database_time(None)
