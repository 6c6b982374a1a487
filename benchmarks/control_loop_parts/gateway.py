"""A gateway that follows the routes with all its parts, without its sockets and its pauses."""

import asyncio
from pathlib import Path

from workers.gateway.control_plane import Credential, HttpControlPlane
from workers.gateway.gateway import Gateway
from workers.gateway.journal import Journal
from workers.gateway.membership import Membership
from workers.gateway.recorder import Recorder
from workers.gateway.routes_sync import RoutesSync
from workers.gateway.settings import Bounds
from workers.gateway.shipping import Shipper
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
        gateway = self._loop.run_until_complete(_gateway(storage, self._control_plane))
        self._sync = RoutesSync(
            self._control_plane,
            membership,
            storage,
            gateway.apply,
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


async def _gateway(storage: Storage, control_plane: HttpControlPlane) -> Gateway:
    return Gateway(Bounds(), Recorder(Journal(storage.journal_directory), Shipper(control_plane)))
