"""Tells the control plane what is in flight, every few seconds, and at once what is to be woken."""

import logging
from contextlib import suppress

from controlplane.clock import SYSTEM, Clock
from workers.gateway.control_plane import ControlPlane, ControlPlaneAway, CredentialRefused
from workers.gateway.gateway import Gateway
from workers.gateway.membership import Membership

log = logging.getLogger(__name__)
REPORT_SECONDS = 5.0
"""Between two reports; one that says that nothing is in flight is sent too."""
LEAST_PAUSE_SECONDS = 0.25
"""Between two, however many ask to be woken."""
_MILLISECONDS = 1000


class LoadReports:
    def __init__(
        self,
        control_plane: ControlPlane,
        membership: Membership,
        gateway: Gateway,
        *,
        clock: Clock = SYSTEM,
    ) -> None:
        self._control_plane, self._membership = control_plane, membership
        self._gateway = gateway
        self._clock = clock
        self._sequence = 0

    async def send(self) -> None:
        with suppress(TimeoutError):
            async with self._clock.timeout(REPORT_SECONDS):
                await self._gateway.load.is_urgent.wait()
        report = self._gateway.load_report()
        # By the calendar, so that it goes on growing over a start of the process.
        self._sequence = max(self._sequence + 1, int(self._clock.time() * _MILLISECONDS))
        try:
            credential = await self._membership.credential()
            await self._control_plane.report_load(report.to_json(self._sequence), credential)
        except (ControlPlaneAway, CredentialRefused) as error:
            self._gateway.load.keep_woken(report)
            # The routes' own polling says when this begins and ends.
            log.debug("what is in flight was not told: %s", error)
