"""A connection of the pool, which is asked whether it lives only where that is not known.

The pool asks for each request, which takes a way to the database and back.
"""

import select
from typing import Any, ClassVar

import psycopg

from controlplane.clock import SYSTEM, Clock

USED_LATELY_SECONDS = 5.0
_POOL_ASKS = ""
"""The statement by which `ConnectionPool.check_connection` asks."""


class PooledConnection(psycopg.Connection[Any]):
    """Takes one that was in use just now, and on which nothing came since, for alive.

    A server that ends a connection says so on it. A host that went dark says nothing, and is
    noticed by whoever asks next, as where it goes dark a moment after the pool has asked.
    """

    clock: ClassVar[Clock] = SYSTEM
    _given_at = float("-inf")

    def execute(self, query: Any, *args: Any, **options: Any) -> Any:
        """Return a cursor that has executed the query, or need not."""
        if query == _POOL_ASKS and self._is_known_to_live():
            return self.cursor()
        done = super().execute(query, *args, **options)
        self._given_at = self.clock.monotonic()
        return done

    def _is_known_to_live(self) -> bool:
        now = self.clock.monotonic()
        if self.closed or now - self._given_at > USED_LATELY_SECONDS or self._has_news():
            return False
        self._given_at = now
        return True

    def _has_news(self) -> bool:
        """Return whether something came that nobody has read: the end, as a rule."""
        poll = select.poll()
        poll.register(self.fileno(), select.POLLIN)
        return bool(poll.poll(0))
