"""Writes that outlast a database that is away, for as long as the work is this worker's."""

from collections.abc import Callable
from typing import TypeVar

from django.db import InterfaceError, OperationalError, connection

from workers.tasks.leasing.keeper import Interrupted, LeaseKeeper, LeaseStatus

_PAUSE_SECONDS = 0.3
_Result = TypeVar("_Result")


def retry_on_db_error(keeper: LeaseKeeper, write: Callable[[], _Result]) -> _Result:
    """Return what `write` returns; it may run twice, so it must be one that may.

    Raises:
        Interrupted: the work is another's, or may be by the time that this worker, which is being
            stopped, could say more.
    """
    while True:
        if keeper.status is LeaseStatus.LOST or (keeper.is_stopping and keeper.is_overdue):
            raise Interrupted(LeaseStatus.LOST)
        try:
            return write()
        except (OperationalError, InterfaceError):
            connection.close()
            keeper.clock.sleep(_PAUSE_SECONDS)
