"""The way of every task: its lease is kept while it works, and parted with in order."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from apps.leases.lease import Lease, LeaseLost
from workers.tasks.leasing.claiming import drop_or_hand_over
from workers.tasks.leasing.database_retry import retry_on_db_error
from workers.tasks.leasing.keeper import Interrupted, LeaseKeeper, LeaseStatus

_LOOK_SECONDS = 0.5
_Result = TypeVar("_Result")


@contextmanager
def kept(lease: Lease, *, cancelled: Callable[..., object] | None = None) -> Iterator[LeaseKeeper]:
    """Give the lease's keeper; what interrupts the block ends it, and is no error.

    Work that was to be cancelled is ended by `cancelled`, given the lease.
    """
    with LeaseKeeper(lease) as keeper:
        try:
            yield keeper
        except LeaseLost:
            drop_or_hand_over(keeper, Interrupted(LeaseStatus.LOST))
        except Interrupted as stopped:
            if stopped.status is LeaseStatus.CANCEL and cancelled is not None:
                retry_on_db_error(keeper, lambda: cancelled(lease=lease))
            else:
                drop_or_hand_over(keeper, stopped)


async def watched(keeper: LeaseKeeper, work: Coroutine[Any, Any, _Result]) -> _Result:
    """Return what comes of the work. Raises Interrupted, having cancelled it."""
    doing = asyncio.ensure_future(work)
    try:
        while not doing.done():
            await asyncio.wait((doing,), timeout=_LOOK_SECONDS)
            if not doing.done():
                keeper.check()
        return doing.result()
    finally:
        doing.cancel()
        await asyncio.wait((doing,))
