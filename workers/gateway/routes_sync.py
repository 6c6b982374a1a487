"""Keeps the routes current: from disk at the start, then polled, at once when nudged."""

import asyncio
import logging
from collections.abc import Callable

from controlplane.clock import SYSTEM, Clock
from workers.gateway.control_plane import ControlPlane, ControlPlaneAway, CredentialRefused
from workers.gateway.membership import Membership
from workers.gateway.snapshot import Snapshot, UnreadableSnapshot, read
from workers.gateway.storage import Storage

log = logging.getLogger(__name__)
NO_VERSION = 0


class RoutesSync:
    def __init__(
        self,
        control_plane: ControlPlane,
        membership: Membership,
        storage: Storage,
        apply: Callable[[Snapshot], None],
        *,
        confirmed: Callable[[], None],
        poll_seconds: float,
        clock: Clock = SYSTEM,
    ) -> None:
        self._clock = clock
        self._control_plane = control_plane
        self._membership = membership
        self._storage = storage
        self._apply = apply
        self._confirmed = confirmed
        self._poll_seconds = poll_seconds
        self._nudged = asyncio.Event()
        self._version = NO_VERSION
        self._unkept: bytes | None = None
        self._reported: int | None = None
        self._trouble: str | None = None

    def load_from_disk(self) -> None:
        """Serve by the last routes known, so that a start needs no control plane."""
        payload = self._storage.load_routes()
        if payload is None:
            return
        try:
            self._take(read(payload))
        except UnreadableSnapshot as error:
            log.warning("the routes on disk are not used: %s", error)

    def nudge(self) -> None:
        self._nudged.set()

    async def run(self) -> None:
        while True:
            self._nudged.clear()
            await self._attempt()
            try:
                async with self._clock.timeout(self._poll_seconds):
                    await self._nudged.wait()
            except TimeoutError:
                continue

    async def _attempt(self) -> None:
        try:
            await self._refresh()
        except CredentialRefused as error:
            self._membership.forget()
            self._say(f"the control plane refuses this gateway: {error}")
        except ControlPlaneAway as error:
            self._say(f"the control plane is away: {error}")
        except UnreadableSnapshot as error:
            self._say(str(error))
        except OSError as error:
            self._say(f"the disk takes nothing: {error}")
        else:
            self._say(None)

    async def _refresh(self) -> None:
        credential = await self._membership.credential()
        payload = await self._control_plane.routes_after(self._version, credential)
        if payload is not None:
            self._take(read(payload))
            self._unkept = payload
        self._confirmed()
        if self._unkept is not None:
            # Before it is reported: a crash from then on must not fall back to older routes.
            await asyncio.to_thread(self._storage.save_routes, self._unkept)
            self._unkept = None
        if self._reported != self._version and self._version != NO_VERSION:
            await self._control_plane.report_applied(self._version, credential)
            self._reported = self._version

    def _take(self, snapshot: Snapshot) -> None:
        self._apply(snapshot)
        self._version = snapshot.version
        log.info(
            "applied routes version %d: %d models, %d keys",
            snapshot.version,
            len(snapshot.models),
            len(snapshot.keys),
        )

    def _say(self, trouble: str | None) -> None:
        """Log a trouble when it begins, changes or ends, not once a second."""
        if trouble != self._trouble:
            if trouble is None:
                log.info("routes are kept current again")
            else:
                log.warning("%s; serving by routes version %d", trouble, self._version)
        self._trouble = trouble
