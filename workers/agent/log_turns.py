"""Whose log is shipped when: each in its turn, within what a step of the agent leaves for them."""

import logging
from collections import deque
from collections.abc import Callable, Sequence

from controlplane.clock import Clock
from workers.agent.control_plane import ControlPlane, ControlPlaneAway
from workers.agent.folders import ReplicaFolder
from workers.agent.log_shipping import ship_log

PIECES_PER_STEP = 8
SHIP_SECONDS = 1.0
"""Of a step, for logs: reports and looks at engines come before them."""
_log = logging.getLogger(__name__)


class LogTurns:
    """Ships the logs of a host's replicas; `came_on` is called with each piece."""

    def __init__(
        self, control_plane: ControlPlane, came_on: Callable[[], object], *, clock: Clock
    ) -> None:
        self._control_plane = control_plane
        self._came_on = came_on
        self._clock = clock
        self._turn = 0

    def ship(self, replicas: Sequence[tuple[ReplicaFolder, bool]]) -> None:
        """Ship some of each log: folders, and whether their replicas are over."""
        until = self._clock.monotonic() + SHIP_SECONDS
        # Who came last in the step before comes first in this one.
        self._turn += 1
        waiting = deque(replicas)
        waiting.rotate(-self._turn)
        try:
            for folder, is_over in waiting:
                self._ship_some(folder, until, is_over=is_over)
        except ControlPlaneAway as error:
            _log.debug("a piece of a log waits: %s", error)

    def _ship_some(self, folder: ReplicaFolder, until: float, *, is_over: bool) -> None:
        for _ in range(PIECES_PER_STEP):
            self._came_on()
            if self._clock.monotonic() >= until:
                return
            if not ship_log(folder, self._control_plane, is_over=is_over):
                return

    def has_shipped_rest(self, folder: ReplicaFolder) -> bool:
        """Ship for a moment; return whether nothing is left that could be shipped."""
        until = self._clock.monotonic() + SHIP_SECONDS
        try:
            while ship_log(folder, self._control_plane, is_over=True):
                self._came_on()
                if self._clock.monotonic() >= until:
                    return False
        except ControlPlaneAway as error:
            name = f"{folder.replica_id}.{folder.generation}"
            _log.warning("the last lines of replica %s are lost: %s", name, error)
        return True
