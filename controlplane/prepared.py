"""A cursor whose statements PostgreSQL parses and plans once a connection, not each time.

Django binds values in the text, so that no statement comes twice. For what is asked again and
again, of which the text stays the same; a statement asked once is better off with a usual cursor.
"""

from collections.abc import Mapping
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.postgresql.base import ServerBindingCursor

_RUNS_BEFORE_PREPARED = 2
SOFT_COMMIT = (
    "set_config('synchronous_commit', "
    "coalesce(%(soft_commit)s, current_setting('synchronous_commit')), true)"
)
"""In a statement that is a transaction by itself: it does not wait for the disk.

For what is said again in a moment. A database that breaks down then may have forgotten it, but
nothing that was stored later, so nobody has durably gone by it.
"""
_CURSOR: Any = ServerBindingCursor


def prepared_cursor() -> Any:
    """Return a cursor like that of `connection.cursor()`, with its errors and counted queries."""
    # As `connection.cursor()` makes it, which cannot be told the kind of cursor.
    connection: Any = connections[DEFAULT_DB_ALIAS]
    connection.close_if_health_check_failed()
    connection.ensure_connection()
    connection.connection.prepare_threshold = _RUNS_BEFORE_PREPARED  # a usual cursor has none
    with connection.wrap_database_errors:
        return connection._prepare_cursor(_CURSOR(connection.connection))


def soft_commit() -> Mapping[str, str | None]:
    """Return the value for `SOFT_COMMIT`: a larger transaction commits as it does."""
    connection: Any = connections[DEFAULT_DB_ALIAS]
    return {"soft_commit": None if connection.in_atomic_block else "off"}
