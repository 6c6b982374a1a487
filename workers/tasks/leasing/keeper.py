"""The thread that keeps a lease alive while another does the work."""

import copy
import logging
import threading
from collections.abc import Callable
from enum import StrEnum
from types import TracebackType

from django.db import DEFAULT_DB_ALIAS, InterfaceError, OperationalError, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.utils import load_backend

from apps.leases.lease import LEASE_SECONDS, RENEW_SECONDS, Lease, LeaseLost
from apps.leases.services import lease_check, lease_renew
from controlplane.clock import SYSTEM, Clock
from workers.tasks.leasing.others import database_answers_others
from workers.tasks.leasing.stopping import STOPPING, Flag

_LOOK_SECONDS = 1.0
_RECONNECT_SECONDS = 0.3
_IN_DOUBT_SECONDS = 5.0
"""In which a database that has come back answers us too, while the lease is nobody else's yet."""
_log = logging.getLogger(__name__)


class LeaseStatus(StrEnum):
    """What the holder of a lease should do."""

    HELD = "held"
    CANCEL = "cancel"
    STOPPING = "stopping"
    """The worker is being stopped: give the work back."""
    LOST = "lost"


class Interrupted(Exception):
    """The work cannot go on in this worker."""

    def __init__(self, status: LeaseStatus) -> None:
        super().__init__(status.value)
        self.status = status


class LeaseKeeper:
    """Renews a lease until left; looks every second whether the work is to be cancelled.

    A database that is away costs nothing, however long: nobody can take the lease meanwhile. Where
    the control plane says that it answers others, this host alone is cut off: then the lease is
    LOST once it may have run out, and so it is where this process stood still for so long.
    """

    def __init__(
        self,
        lease: Lease,
        *,
        stopping: Flag = STOPPING,
        answers_others: Callable[[], bool] = database_answers_others,
        clock: Clock = SYSTEM,
    ) -> None:
        self.lease = lease
        self.clock = clock
        self.is_reachable = True
        self._answers_others = answers_others
        self._others_since: float | None = None
        self._is_asking = False
        self._stopping = stopping
        self._left = threading.Event()
        self._is_lost = False
        self._is_cancel_requested = False
        # The claim was made a moment ago; better a moment too early than too late.
        self._renewed_at = clock.monotonic() - _LOOK_SECONDS
        self._thread = threading.Thread(target=self._keep, name=f"lease-{lease.id}", daemon=True)

    def __enter__(self) -> "LeaseKeeper":
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._left.set()
        self._thread.join()

    @property
    def status(self) -> LeaseStatus:
        if self._is_lost or (self.is_overdue and not self._is_away_for_all()):
            self._is_lost = True
            return LeaseStatus.LOST
        if self._is_cancel_requested:
            return LeaseStatus.CANCEL
        return LeaseStatus.STOPPING if self.is_stopping else LeaseStatus.HELD

    @property
    def is_overdue(self) -> bool:
        """Whether a lease's time has passed since it was renewed."""
        return self.clock.monotonic() - self._renewed_at >= LEASE_SECONDS

    @property
    def is_stopping(self) -> bool:
        return self._stopping.is_set()

    def check(self) -> None:
        """Return while the work may go on. Raises Interrupted."""
        if (status := self.status) is not LeaseStatus.HELD:
            raise Interrupted(status)

    def _is_away_for_all(self) -> bool:
        """Return whether the database keeps everybody waiting, as far as anybody tells us."""
        if self.is_reachable:
            return self._is_asking  # its answer is on its way, or it stands still
        since = self._others_since
        return since is None or self.clock.monotonic() - since < _IN_DOUBT_SECONDS

    def _keep(self) -> None:
        connection = _own_connection()
        try:
            while not self._is_lost and not self.clock.wait(self._left, self._pause_seconds()):
                self._look(connection)
        finally:
            connection.close()

    def _pause_seconds(self) -> float:
        return _LOOK_SECONDS if self.is_reachable else _RECONNECT_SECONDS

    def _look(self, connection: BaseDatabaseWrapper) -> None:
        self._is_asking = True
        try:
            # One that took long does not tell when it was given: one that comes at once does.
            while not self._is_answered(connection) and not self._left.is_set():
                pass
        except LeaseLost:
            self._is_lost = True
        except (OperationalError, InterfaceError) as error:
            if self.is_reachable:
                _log.warning("the database does not answer, retrying: %s", error)
            self.is_reachable = False
            connection.close()
            self._ask_others()
        finally:
            self._is_asking = False

    def _is_answered(self, connection: BaseDatabaseWrapper) -> bool:
        asked_at = self.clock.monotonic()
        is_due = asked_at - self._renewed_at >= RENEW_SECONDS - _LOOK_SECONDS / 2
        ask = lease_renew if is_due else lease_check
        answer = ask(lease=self.lease, connection=connection)
        if self.clock.monotonic() - asked_at >= RENEW_SECONDS:
            return False
        self._is_cancel_requested = answer.is_cancel_requested
        if is_due:
            self._renewed_at = asked_at
        self.is_reachable, self._others_since = True, None
        return True

    def _ask_others(self) -> None:
        if not self._answers_others():
            self._others_since = None
        elif self._others_since is None:
            self._others_since = self.clock.monotonic()


def _own_connection() -> BaseDatabaseWrapper:
    """Return an unpooled connection that gives up long before a lease runs out."""
    entry = copy.deepcopy(connections[DEFAULT_DB_ALIAS].settings_dict)
    entry["OPTIONS"] = {
        name: value for name, value in entry["OPTIONS"].items() if name != "pool"
    } | {
        "connect_timeout": 2,
        "tcp_user_timeout": 3000,
        "options": "-c statement_timeout=3000",
    }
    connection: BaseDatabaseWrapper = load_backend(entry["ENGINE"]).DatabaseWrapper(entry, "lease")
    return connection
