"""The key ring beside the rows that it seals: who uses it, and that no key leaves it meanwhile."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.conf import settings
from django.db import connection, transaction

from apps.accounts.key_ring import KeyRing, key_ring_ensure, key_ring_load

KEY_RING_LOCK = 4_702_111_012
"""Held, shared, from the ring to a row by all that read or write what is sealed, and alone by
whoever takes keys out of the ring."""

_holders: list[Callable[[], bool]] = []


def sealed_register(exists: Callable[[], bool]) -> None:
    """Let an app say whether it has sealed rows; called once, when Django starts."""
    if exists not in _holders:
        _holders.append(exists)


def key_ring_prepare() -> KeyRing:
    """Return the key ring; the web process makes it when it first seals something.

    With sealed rows in the database and no file, it was lost or belongs to another host, and a new
    one would only hide that: then it raises KeyRingError.
    """
    if any(exists() for exists in _holders):
        return key_ring_load(settings.KEY_RING_FILE)
    return key_ring_ensure(settings.KEY_RING_FILE)


@contextmanager
def ring_as_it_is() -> Iterator[None]:
    """Open a transaction in which no key is removed from the ring."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock_shared(%s)", [KEY_RING_LOCK])
        yield
