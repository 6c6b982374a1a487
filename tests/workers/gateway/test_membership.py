"""A gateway asks for one credential, however many of its parts need it at once."""

import asyncio
from pathlib import Path

import pytest

from controlplane.clock import SYSTEM
from workers.gateway.control_plane import ControlPlaneAway, Credential, CredentialRefused
from workers.gateway.membership import Membership
from workers.gateway.storage import Storage


class SlowControlPlane:
    """Takes every enrollment, after a pause, and keeps their secrets."""

    def __init__(self, *, most: int = 9) -> None:
        self.secrets: list[str] = []
        self.loses_next_answer = False
        self._most = most

    async def enroll(self, token: str, *, name: str, address: str, secret: str) -> Credential:
        if len(self.secrets) == self._most:
            raise CredentialRefused("gateways/enroll answered 401")
        self.secrets.append(secret)
        await SYSTEM.pause(0)  # all who ask have begun when it goes on
        if self.loses_next_answer:
            self.loses_next_answer = False
            raise ControlPlaneAway("gateways/enroll: ReadTimeout")
        return Credential(gateway_id="one", secret=secret)


def _membership(plane: SlowControlPlane, folder: Path, token: str | None) -> Membership:
    return Membership(plane, Storage(folder), token=token, name="gateway", address="127.0.0.1")


def test_parts_that_ask_at_the_same_time_get_the_same_credential(tmp_path: Path) -> None:
    plane = SlowControlPlane()
    membership = _membership(plane, tmp_path, "token")

    async def ask() -> list[Credential]:
        return list(await asyncio.gather(*(membership.credential() for _ in range(5))))

    assert len(set(asyncio.run(ask()))) == 1
    assert len(plane.secrets) == 1


def test_after_a_lost_answer_it_enrolls_with_the_same_secret_even_after_a_restart(
    tmp_path: Path,
) -> None:
    plane = SlowControlPlane()
    plane.loses_next_answer = True
    with pytest.raises(ControlPlaneAway):
        asyncio.run(_membership(plane, tmp_path, "token").credential())
    process = asyncio.run(_membership(plane, tmp_path, "token").credential())
    assert plane.secrets == [process.secret] * 2
    assert Storage(tmp_path).load_credential() == process


def test_a_refused_credential_is_replaced_by_another(tmp_path: Path) -> None:
    membership = _membership(SlowControlPlane(), tmp_path, "token")
    first = asyncio.run(membership.credential())
    membership.forget()
    second = asyncio.run(membership.credential())
    assert first.secret != second.secret
    assert Storage(tmp_path).load_credential() == second


def test_a_credential_outlives_a_token_that_gets_no_other(tmp_path: Path) -> None:
    membership = _membership(SlowControlPlane(most=1), tmp_path, "token")
    only = asyncio.run(membership.credential())
    membership.forget()
    with pytest.raises(CredentialRefused):
        asyncio.run(membership.credential())
    membership.forget()
    assert asyncio.run(membership.credential()) == only


def test_without_a_token_the_refusal_says_what_is_missing(tmp_path: Path) -> None:
    membership = _membership(SlowControlPlane(), tmp_path, None)
    with pytest.raises(CredentialRefused, match="no ENROLLMENT_TOKEN"):
        asyncio.run(membership.credential())
