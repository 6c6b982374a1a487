"""The control plane as the gateway sees it: a protocol, and its HTTP form."""

from dataclasses import dataclass
from hashlib import sha256
from http import HTTPStatus
from typing import Any, Protocol

import httpx

TIMEOUT_SECONDS = 5.0


class ControlPlaneAway(Exception):
    """It did not answer, or not with sense; everything goes on from what is known."""


class CredentialRefused(Exception):
    """It answered, and does not know this credential or token."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Credential:
    gateway_id: str
    secret: str

    def __repr__(self) -> str:
        return f"Credential(gateway_id={self.gateway_id!r})"


class ControlPlane(Protocol):
    async def enroll(self, token: str, *, name: str, address: str, secret: str) -> Credential:
        """Return the credential of which `secret` is the secret."""

    async def routes_after(self, version: int, credential: Credential) -> bytes | None:
        """Return a snapshot, or None when `version` is the current one."""

    async def report_applied(self, version: int, credential: Credential) -> None: ...

    async def send_usage(self, batch: bytes, credential: Credential) -> int:
        """Return the offset up to which the journal is committed."""


class HttpControlPlane:
    def __init__(self, url: str) -> None:
        # No proxy from the environment: this is a neighbour, and it carries a credential.
        self._http = httpx.AsyncClient(
            base_url=f"{url.rstrip('/')}/internal/v1/", timeout=TIMEOUT_SECONDS, trust_env=False
        )

    async def enroll(self, token: str, *, name: str, address: str, secret: str) -> Credential:
        digest = sha256(secret.encode()).hexdigest()
        body = {"name": name, "address": address, "credential_sha256": digest}
        answer = await self._call("POST", "gateways/enroll", token, json=body)
        (gateway_id,) = _fields(answer, "gateway_id")
        return Credential(gateway_id=gateway_id, secret=secret)

    async def routes_after(self, version: int, credential: Credential) -> bytes | None:
        params = {"after": version, "gateway": credential.gateway_id}
        answer = await self._call("GET", "routes", credential.secret, params=params)
        return None if answer.status_code == HTTPStatus.NO_CONTENT else answer.content

    async def report_applied(self, version: int, credential: Credential) -> None:
        body = {"version": version}
        await self._call("POST", "gateways/applied", credential.secret, json=body)

    async def send_usage(self, batch: bytes, credential: Credential) -> int:
        answer = await self._call("POST", "usage", credential.secret, content=batch)
        (committed,) = _fields(answer, "committed_offset")
        return int(committed)

    async def close(self) -> None:
        await self._http.aclose()

    async def _call(self, method: str, path: str, bearer: str, **request: Any) -> httpx.Response:
        headers = {"authorization": f"Bearer {bearer}", "content-type": "application/json"}
        try:
            answer = await self._http.request(method, path, headers=headers, **request)
        except httpx.HTTPError as error:
            raise ControlPlaneAway(f"{path}: {type(error).__name__}") from error
        if answer.status_code in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            raise CredentialRefused(f"{path} answered {answer.status_code}")
        if answer.status_code >= HTTPStatus.MULTIPLE_CHOICES:
            raise ControlPlaneAway(f"{path} answered {answer.status_code}")
        return answer


def _fields(answer: httpx.Response, *names: str) -> list[Any]:
    """Return these fields of a JSON answer. Raises ControlPlaneAway: something else answers."""
    try:
        body = answer.json()
        return [body[name] for name in names]
    except (ValueError, KeyError, TypeError) as error:
        path = answer.url.path.rpartition("/internal/v1/")[2]
        raise ControlPlaneAway(f"{path} did not answer with {', '.join(names)}") from error
