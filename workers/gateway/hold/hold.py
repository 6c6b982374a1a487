"""What a request waits for that no replica takes now, and for how long."""

from typing import TYPE_CHECKING

from controlplane.clock import Clock
from workers.gateway.refusals import Refusal, no_replica, not_awake
from workers.gateway.seams import Ledger
from workers.gateway.snapshot import Deployment

if TYPE_CHECKING:
    from workers.gateway.exchange import Exchange

HOLDING_STATUSES = frozenset({"ACTIVE", "UPDATING"})
WAKING_STATUSES = frozenset({"SCALED_TO_ZERO", "WAKING_UP"})
"""A request starts a replica, and waits for it."""


class Hold:
    """Of one exchange, from when it first finds no replica until one is asked."""

    __slots__ = ("_clock", "_exchange", "_last", "_ledger", "_until")

    def __init__(self, exchange: "Exchange", ledger: Ledger, clock: Clock) -> None:
        self._exchange, self._ledger, self._clock = exchange, ledger, clock
        self._until: float | None = None
        self._last: float | None = None
        """Until when it may wait for one, also after it has knocked in vain meanwhile."""

    @property
    def waits_for_routes(self) -> bool:
        """Whether it waits for a replica to come, and not for its turn at one."""
        return self._until is not None

    def begin(self, tried: set[str]) -> Refusal | None:
        """Let it wait for a turn, or for new routes when a replica just went or wakes.

        Return why it may not, or None.
        """
        placing = self._ledger.placing
        if placing.is_full(self._exchange, tried):
            self._until = self._last = None
            return placing.wait_for_turn(self._exchange)
        deployment = self._exchange.admission.deployment
        if (refusal := self._no_use_in_waiting(deployment)) is None:
            self._until = self._last = self._last_moment(deployment)
            self._ledger.wait_for_routes(self._exchange)
        return refusal

    def rest(self) -> None:
        """A replica was chosen: whether it takes connections is yet to be seen."""
        self._until = None

    def lateness(self, now: float) -> Refusal | None:
        """Return what it is told if nobody came in time, or None.

        A suspect that lived lately may be late for being busy.
        """
        if self._until is None or now <= self._until:
            return None
        deployment = self._exchange.admission.deployment
        if self._ledger.placing.may_come(deployment):
            return None
        return not_awake(deployment) if _is_waking(deployment) else no_replica(deployment)

    def _no_use_in_waiting(self, deployment: Deployment) -> Refusal | None:
        if _is_waking(deployment):
            return self._ledger.no_room_to_wait(self._exchange)
        if deployment.status in HOLDING_STATUSES or self._ledger.placing.may_come(deployment):
            return None
        return no_replica(deployment)

    def _last_moment(self, deployment: Deployment) -> float:
        bounds = self._ledger.bounds
        if _is_waking(deployment):  # from when it came: however often routes change meanwhile
            return self._exchange.started_at + bounds.wake_seconds
        return self._last or self._clock.monotonic() + bounds.hold_seconds


def _is_waking(deployment: Deployment) -> bool:
    return deployment.status in WAKING_STATUSES
