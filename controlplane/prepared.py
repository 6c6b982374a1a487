"""A cursor whose statements PostgreSQL parses and plans once a connection, not each time.

Django binds values in the text, so that no statement comes twice. For what is asked again and
again, of which the text stays the same; a statement asked once is better off with a usual cursor.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection
from django.db.backends.postgresql.base import ServerBindingCursor

_ASKED_BEFORE_PREPARED = 2


@contextmanager
def prepared_cursor() -> Iterator[Any]:
    """A cursor like `connection.cursor()`, errors and counted queries included."""
    # As `connection.cursor()` does, which cannot be told the kind of cursor.
    wrapper: Any = connection
    wrapper.close_if_health_check_failed()
    wrapper.ensure_connection()
    wrapper.connection.prepare_threshold = _ASKED_BEFORE_PREPARED  # a usual cursor never prepares
    with wrapper.wrap_database_errors:
        cursor = wrapper._prepare_cursor(ServerBindingCursor(wrapper.connection))
    with cursor:
        yield cursor
