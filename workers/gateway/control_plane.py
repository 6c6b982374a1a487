"""The control plane as the gateway sees it: a protocol, and its HTTP form."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from http import HTTPStatus
from typing import Any, Protocol

from controlplane.clock import SYSTEM, Clock, RemoteTime
from controlplane.domain.json_text import read_json
from controlplane.domain.wire.routes import APPLIED_HEADER, FORMAT, TIME_HEADER
from workers.gateway.control_plane_calls import Answer, Calls, NoWholeAnswer, Question

TIMEOUT_SECONDS = 5.0
"""Of a silence."""
WHOLE_ANSWER_SECONDS = 30.0
ALL_ROUTES_SECONDS = 120.0
"""All of a large fleet takes a busy control plane this long to read, and there is nothing better to
do meanwhile."""
LONGEST_ANSWER_BYTES = 1024 * 1024
LONGEST_ROUTES_BYTES = 256 * 1024 * 1024
"""Some 300 bytes for each key and each replica."""
LONGEST_OUTPUT_BYTES = 64 * 1024 * 1024
"""What a model answered, each of its characters written as an escape."""
_REFUSALS = frozenset({400, 404, 429})
_HEADERS = {
    "content-type": "application/json",
    # A packed answer would be bounded only before it is unpacked.
    "accept-encoding": "identity",
}
_TIME = re.compile(r"[0-9]{1,12}(\.[0-9]{1,9})?")


class ControlPlaneAway(Exception):
    """It did not answer, or not with sense; everything goes on from what is known."""


class BatchRefused(ControlPlaneAway):
    """It answered, and cannot read what it was sent."""


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
        """Return the credential that the control plane takes from now on, with this `secret`."""

    async def routes_after(
        self,
        version: int,
        credential: Credential,
        *,
        digest: str | None = None,
        applied: int | None = None,
    ) -> bytes | None:
        """Return what changed after it, or all; None when `version`, with `digest`, is current.

        `applied` is the version that this gateway works by and has on disk.
        """

    @property
    def hears_applied(self) -> bool:
        """Whether it heard `applied`: one of an earlier release is told by `report_applied`."""

    async def report_applied(self, version: int, credential: Credential) -> None: ...

    async def report_load(self, report: bytes, credential: Credential) -> None:
        """Say what is in flight; a report that is lost is not sent again."""

    async def report_samples(self, report: bytes, credential: Credential) -> bytes:
        """Return what it orders, having said how many samples lie here and what was found."""

    async def send_usage(self, batch: bytes, credential: Credential) -> int:
        """Return the offset up to which the journal is committed."""

    async def async_request(
        self, method: str, path: str, params: Mapping[str, str], body: bytes, credential: Credential
    ) -> Answer:
        """Return what it answers of asynchronous requests, its refusals too."""


class HttpControlPlane:
    def __init__(
        self,
        url: str,
        *,
        free_bytes: Callable[[], int | None] = lambda: None,
        clock: Clock = SYSTEM,
    ) -> None:
        """`free_bytes` tells how much room the gateway's disk has, which each poll passes on."""
        self._clock = clock
        self._free_bytes = free_bytes
        self.time = RemoteTime(clock=clock)
        """The time there, by which keys end; our own until it has answered."""
        # No proxy from the environment: this is a neighbour, and it carries a credential.
        self._calls = Calls(
            f"{url.rstrip('/')}/internal/v1", connect_seconds=TIMEOUT_SECONDS, clock=clock
        )
        self.hears_applied = False

    async def enroll(self, token: str, *, name: str, address: str, secret: str) -> Credential:
        digest = sha256(secret.encode()).hexdigest()
        body = {"name": name, "address": address, "credential_sha256": digest}
        answer = await self._call("POST", "gateways/enroll", token, body=_json(body))
        (gateway_id,) = _fields("gateways/enroll", answer, "gateway_id")
        return Credential(gateway_id=gateway_id, secret=secret)

    async def routes_after(
        self,
        version: int,
        credential: Credential,
        *,
        digest: str | None = None,
        applied: int | None = None,
    ) -> bytes | None:
        params = {
            "after": version,
            "gateway": credential.gateway_id,
            "format": FORMAT,
            "sent_at": f"{self._clock.time():.3f}",
            "free_bytes": self._free_bytes(),
            "digest": digest,
            "applied": applied,
        }
        answer = await self._call(
            "GET",
            "routes",
            credential.secret,
            most_bytes=LONGEST_ROUTES_BYTES,
            whole_seconds=WHOLE_ANSWER_SECONDS if version else ALL_ROUTES_SECONDS,
            params={name: value for name, value in params.items() if value is not None},
            silent_seconds=TIMEOUT_SECONDS if version else ALL_ROUTES_SECONDS,
        )
        self._take_time(answer.headers.get(TIME_HEADER))
        self.hears_applied = answer.headers.get(APPLIED_HEADER) == str(applied)
        return None if answer.status == HTTPStatus.NO_CONTENT else answer.content

    def _take_time(self, date: str | None) -> None:
        if date is not None and _TIME.fullmatch(date):
            self.time.tell(float(date))

    async def report_applied(self, version: int, credential: Credential) -> None:
        body = {"version": version}
        await self._call("POST", "gateways/applied", credential.secret, body=_json(body))

    async def report_load(self, report: bytes, credential: Credential) -> None:
        await self._call("POST", "gateways/load", credential.secret, body=report)

    async def report_samples(self, report: bytes, credential: Credential) -> bytes:
        answer = await self._call("POST", "gateways/samples", credential.secret, body=report)
        return answer.content

    async def send_usage(self, batch: bytes, credential: Credential) -> int:
        answer = await self._call("POST", "usage", credential.secret, body=batch)
        (committed,) = _fields("usage", answer, "committed_offset")
        try:
            return int(committed)
        except (ValueError, TypeError, OverflowError):
            raise ControlPlaneAway("usage did not answer with an offset") from None

    async def async_request(
        self, method: str, path: str, params: Mapping[str, str], body: bytes, credential: Credential
    ) -> Answer:
        return await self._call(
            method, path, credential.secret,
            body=body, params=params, most_bytes=LONGEST_OUTPUT_BYTES, hears_refusals=True,
        )  # fmt: skip

    async def close(self) -> None:
        self._calls.close()

    async def _call(
        self,
        method: str,
        path: str,
        bearer: str,
        *,
        body: bytes = b"",
        params: Mapping[str, object] | None = None,
        silent_seconds: float = TIMEOUT_SECONDS,
        whole_seconds: float = WHOLE_ANSWER_SECONDS,
        most_bytes: int = LONGEST_ANSWER_BYTES,
        hears_refusals: bool = False,
    ) -> Answer:
        headers = {"authorization": f"Bearer {bearer}", **_HEADERS}
        question = Question(
            method=method, path=path, headers=headers, params=params or {}, body=body
        )
        try:
            async with self._clock.timeout(whole_seconds):
                answer = await self._calls.ask(
                    question, silent_seconds=silent_seconds, most_bytes=most_bytes
                )
        except TimeoutError as error:
            raise ControlPlaneAway(f"{path}: no whole answer in time") from error
        except NoWholeAnswer as error:
            raise ControlPlaneAway(f"{path}: {error}") from error
        if not (hears_refusals and answer.status in _REFUSALS):
            _check_status(path, answer.status)
        return answer


def _check_status(path: str, status: int) -> None:
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        raise CredentialRefused(f"{path} answered {status}")
    if status == HTTPStatus.BAD_REQUEST:
        raise BatchRefused(f"{path} answered {status}")
    if status >= HTTPStatus.MULTIPLE_CHOICES:
        raise ControlPlaneAway(f"{path} answered {status}")


def _json(body: Mapping[str, str | int]) -> bytes:
    return json.dumps(body).encode()


def _fields(path: str, answer: Answer, *names: str) -> list[Any]:
    """Return these fields of a JSON answer. Raises ControlPlaneAway: something else answers."""
    try:
        body = read_json(answer.content)
        return [body[name] for name in names]
    except (ValueError, KeyError, TypeError) as error:
        raise ControlPlaneAway(f"{path} did not answer with {', '.join(names)}") from error
