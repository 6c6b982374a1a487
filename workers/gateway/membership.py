"""The gateway's place in the control plane: its credential, asked for once with a token."""

import asyncio
import logging

from workers.gateway.control_plane import ControlPlane, Credential, CredentialRefused
from workers.gateway.storage import Storage

log = logging.getLogger(__name__)
_NO_TOKEN = (
    "no credential and no ENROLLMENT_TOKEN that may still be used: make one with "
    "`manage.py enrollment_token`, and start the gateway with it"
)


class Membership:
    def __init__(
        self,
        control_plane: ControlPlane,
        storage: Storage,
        *,
        token: str | None,
        name: str,
        address: str,
    ) -> None:
        self._control_plane = control_plane
        self._storage = storage
        self._token = token
        self._name, self._address = name, address
        self._credential = storage.load_credential()
        self._enrolling = asyncio.Lock()

    async def credential(self) -> Credential:
        """Return the credential, enrolling first when there is none.

        Raises ControlPlaneAway or CredentialRefused.
        """
        # Routes and usage ask at the same time: two enrollments would end each other's credential.
        async with self._enrolling:
            if self._credential is None:
                self._credential = await self._enroll()
            return self._credential

    def forget(self) -> None:
        """Drop a credential that the control plane refused, where a token may get another."""
        if self._token is not None:
            self._credential = None

    async def _enroll(self) -> Credential:
        if self._token is None:
            raise CredentialRefused(_NO_TOKEN)
        try:
            credential = await self._control_plane.enroll(
                self._token,
                name=self._name,
                address=self._address,
                secret=self._storage.chosen_secret(),
            )
        except CredentialRefused:
            # What was known before may be good again once the control plane is restored.
            self._token, self._credential = None, self._storage.load_credential()
            raise
        self._storage.save_credential(credential)
        log.info("enrolled as gateway %s", credential.gateway_id)
        return credential
