"""Keeps the routes current: from disk at the start, then polled, at once when nudged."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress

from controlplane.clock import SYSTEM, Clock
from workers.gateway.control_plane import (
    ControlPlane,
    ControlPlaneAway,
    Credential,
    CredentialRefused,
)
from workers.gateway.kept_routes import following
from workers.gateway.membership import Membership
from workers.gateway.routes_table import RoutesGap, RoutesTable
from workers.gateway.snapshot import Snapshot
from workers.gateway.snapshot_reading import UnreadableSnapshot
from workers.gateway.storage import Storage

log = logging.getLogger(__name__)
NO_VERSION = 0
REPORT_SECONDS = 1.0
"""Within which it is said that routes are applied, however seldom the control plane is polled."""


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
        differed: Callable[[], None] = lambda: None,
        clock: Clock = SYSTEM,
    ) -> None:
        """`differed` is told each time the table was not what the control plane has."""
        self._clock = clock
        self._control_plane = control_plane
        self._membership = membership
        self._storage = storage
        self._apply = apply
        self._confirmed = confirmed
        self._poll_seconds = poll_seconds
        self._nudged = asyncio.Event()
        self._table = RoutesTable()
        self._version = NO_VERSION
        self._unkept: list[bytes] = []
        self._is_unkept_whole = False
        self._differed = differed
        self._kept: int | None = None
        """The version on disk, once it is applied."""
        self._reported: int | None = None
        self._trouble: str | None = None

    def load_from_disk(self) -> None:
        """Serve by the last routes known, so that a start needs no control plane."""
        try:
            for payload in following(self._storage.load_routes()):
                self._take_kept(payload)
        except UnreadableSnapshot as error:
            log.warning("the routes on disk are not used: %s", error)
            self._table = RoutesTable()
        if self._table.snapshot is not None:
            self._take(self._table.snapshot)
            self._kept = self._version

    def _take_kept(self, payload: bytes) -> None:
        with suppress(RoutesGap):  # one that was kept twice, or is in the whole already
            if not self._table.take(payload).is_same:
                raise UnreadableSnapshot("they are not what they were when they were kept")

    def nudge(self) -> None:
        self._nudged.set()

    async def run(self) -> None:
        while True:
            self._nudged.clear()
            await self._attempt()
            try:
                async with self._clock.timeout(self._pause_seconds):
                    await self._nudged.wait()
            except TimeoutError:
                continue

    @property
    def _pause_seconds(self) -> float:
        """How long until the next poll, which also says what is applied: others may wait for it."""
        is_reported = self._reported == self._kept
        return self._poll_seconds if is_reported else min(self._poll_seconds, REPORT_SECONDS)

    async def _attempt(self) -> None:
        try:
            await self.refresh()
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

    async def refresh(self) -> None:
        """Say what is applied and ask once; apply and keep what is new."""
        credential = await self._membership.credential()
        applied = self._kept
        payload = await self._control_plane.routes_after(
            self._version, credential, digest=self._table.digest, applied=applied
        )
        if self._control_plane.hears_applied:
            self._reported = applied
        if payload is not None and not self._is_taken(payload):
            self._differed()
            log.warning("routes version %d differ from the control plane's", self._version)
            payload = await self._control_plane.routes_after(NO_VERSION, credential)
            if payload is not None:
                self._is_taken(payload)
        self._confirmed()
        await self._keep()
        if not self._control_plane.hears_applied:
            await self._report(credential)

    async def _report(self, credential: Credential) -> None:
        if self._kept is not None and self._reported != self._kept:
            await self._control_plane.report_applied(self._kept, credential)
            self._reported = self._kept

    def _is_taken(self, payload: bytes) -> bool:
        """Return whether the table now is the control plane's; a removed key is gone either way."""
        try:
            taken = self._table.take(payload)
        except RoutesGap:
            return False
        assert self._table.snapshot is not None
        self._take(self._table.snapshot)
        if taken.is_whole:
            self._unkept, self._is_unkept_whole = [], True
        self._unkept.append(payload)
        return taken.is_same

    async def _keep(self) -> None:
        """Write what is not on disk yet, before it is reported.

        A crash from then on must not fall back to older routes.
        """
        if not self._unkept:
            return
        whole = self._unkept[0] if self._is_unkept_whole else None
        changes = self._unkept[1:] if self._is_unkept_whole else self._unkept
        await asyncio.to_thread(self._storage.keep_routes, whole, changes)
        self._unkept, self._is_unkept_whole = [], False
        self._kept = self._version

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
