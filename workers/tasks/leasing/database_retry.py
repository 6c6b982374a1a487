"""Writes that outlast a database that is away, for as long as the lease does."""

from collections.abc import Callable
from typing import TypeVar

from django.db import InterfaceError, OperationalError, connection

from workers.tasks.leasing.keeper import Interrupted, LeaseKeeper, LeaseStatus

_PAUSE_SECONDS = 0.3
_Result = TypeVar("_Result")


def retry_on_db_error(keeper: LeaseKeeper, write: Callable[[], _Result]) -> _Result:
    """Return what `write` returns; it may run twice, so it must be one that may.

    Raises:
        Interrupted: the lease ran out before the database answered.
    """
    while True:
        if keeper.status is LeaseStatus.LOST:
            raise Interrupted(LeaseStatus.LOST)
        try:
            return write()
        except (OperationalError, InterfaceError):
            connection.close()
            keeper.clock.sleep(_PAUSE_SECONDS)
