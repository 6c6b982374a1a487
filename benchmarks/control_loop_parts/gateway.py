"""A gateway's own parts that follow the routes, without its sockets and without its pauses."""

import asyncio
from pathlib import Path

from workers.gateway.control_plane import Credential, HttpControlPlane
from workers.gateway.membership import Membership
from workers.gateway.routes_sync import RoutesSync
from workers.gateway.snapshot import Snapshot
from workers.gateway.storage import Storage


class _Weighed(HttpControlPlane):
    """The real one, which notes how much it was told."""

    told_bytes = 0

    async def routes_after(
        self,
        version: int,
        credential: Credential,
        *,
        digest: str | None = None,
        applied: int | None = None,
    ) -> bytes | None:
        payload = await super().routes_after(version, credential, digest=digest, applied=applied)
        self.told_bytes = len(payload or b"")
        return payload


class FollowingGateway:
    def __init__(self, url: str, folder: Path, token: str, *, name: str = "gateway-1") -> None:
        self._loop = asyncio.new_event_loop()
        self._control_plane = _Weighed(url)
        storage = Storage(folder)
        membership = Membership(self._control_plane, storage, token=token, name=name, address="")
        self.snapshot: Snapshot | None = None
        self._sync = RoutesSync(
            self._control_plane,
            membership,
            storage,
            self._take,
            confirmed=lambda: None,
            poll_seconds=1.0,
        )

    def follow(self) -> int:
        """Return how many bytes it was told; what they say is applied, kept and reported."""
        self._loop.run_until_complete(self._sync.refresh())
        return self._control_plane.told_bytes

    def close(self) -> None:
        self._loop.run_until_complete(self._control_plane.close())
        self._loop.close()

    def _take(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
