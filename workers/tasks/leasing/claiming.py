"""How a worker comes to a lease, and how it parts with work that it cannot end."""

import logging
from collections.abc import Callable

from django.conf import settings
from django.db import InterfaceError, OperationalError, connection

from apps.leases.kinds import LeaseKind
from apps.leases.lease import Lease
from apps.leases.services import lease_claim, lease_release
from controlplane.clock import SYSTEM, Clock
from workers.gates import pass_gate
from workers.tasks.leasing.database_retry import retry_on_db_error
from workers.tasks.leasing.keeper import Interrupted, LeaseKeeper, LeaseStatus
from workers.tasks.leasing.owner import process_owner

_PATIENCE_SECONDS = 10.0
_PAUSE_SECONDS = 0.2
_log = logging.getLogger(__name__)


def claimed_one(kind: LeaseKind, id: str) -> Lease | None:
    return claimed(lambda owner: lease_claim(kind=kind, id=id, owner=owner))


def claimed(claim: Callable[[str], Lease | None], *, clock: Clock = SYSTEM) -> Lease | None:
    """Return the lease, or None where another has it or the database stays away.

    `claim` is given the name of this process.
    """
    give_up_at = clock.monotonic() + _PATIENCE_SECONDS
    owner = process_owner(settings.NODE_NAME)
    while True:
        try:
            lease = claim(owner)
        except (OperationalError, InterfaceError) as error:
            # A restarted database leaves broken connections in the pool: each fails once.
            connection.close()
            if clock.monotonic() >= give_up_at:
                _log.warning("no answer from the database, left to the sweep: %s", error)
                return None
            clock.sleep(_PAUSE_SECONDS)
        else:
            if lease is not None:
                _log.info("claimed %s", lease.marker)
                pass_gate(f"{lease.kind.name}.claimed")
            return lease


def drop_or_hand_over(keeper: LeaseKeeper, stopped: Interrupted) -> None:
    """Give the work back where this worker is being stopped; what was lost is another's already."""
    if stopped.status is LeaseStatus.STOPPING:
        _log.info("%s given back, because this worker is being stopped", keeper.lease.marker)
        retry_on_db_error(keeper, lambda: lease_release(lease=keeper.lease))
    else:
        _log.warning("the lease %s is lost, the result is dropped", keeper.lease.marker)
