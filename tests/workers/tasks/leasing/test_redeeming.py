"""Secrets come for a live lease: a restart is waited for, a refusal is not."""

import json
from typing import Any

import pytest
from pytest_django import Settings

from apps.builds.leasing import BUILD
from apps.leases.lease import Lease
from tests.manual_clock import ManualClock
from workers.bounded_http import Answer, NoAnswer
from workers.tasks.leasing import Interrupted, LeaseKeeper, Unredeemed, redeem_secrets, redeeming

REFUSED = NoAnswer("ConnectionRefusedError: refused")


class Kept(LeaseKeeper):
    """A keeper whose lease stands whatever its clock says."""

    def check(self) -> None:
        return None


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(sleeping_moves_it=True)


@pytest.fixture
def keeper(clock: ManualClock) -> LeaseKeeper:
    return Kept(Lease(kind=BUILD, id="abcdefgh", token=1, secret="x"), clock=clock)


def answering(monkeypatch: pytest.MonkeyPatch, *answers: Any) -> list[str]:
    """Let the control plane answer so in turn, the last one for ever; what it was asked."""
    requests: list[str] = []
    left = list(answers)

    def ask(_method: str, url: str, **_options: object) -> Answer:
        requests.append(url)
        answer = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(answer, Exception):
            raise answer
        return Answer(status=answer[0], content=json.dumps(answer[1]).encode())

    monkeypatch.setattr(redeeming, "ask", ask)
    return requests


def test_a_control_plane_that_restarts_is_waited_for(
    keeper: LeaseKeeper, clock: ManualClock, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    settings.CONTROL_PLANE_URL = "http://control.plane"
    answer = answering(monkeypatch, REFUSED, (503, {}), (200, {"secrets": {"a": "b"}}))
    assert redeem_secrets(keeper) == {"a": "b"}
    assert answer == ["http://control.plane/internal/v1/leases/build/abcdefgh/secrets"] * 3
    assert clock.slept == [1.0, 1.0]


def test_one_that_stays_away_is_the_cause_after_a_minute(
    keeper: LeaseKeeper, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    answering(monkeypatch, REFUSED)
    with pytest.raises(Unredeemed, match="ConnectionRefusedError: refused") as raised:
        redeem_secrets(keeper)
    assert not raised.value.is_refusal
    assert sum(clock.slept) == redeeming.PATIENCE_SECONDS


def test_a_no_is_taken_at_once(
    keeper: LeaseKeeper, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    answering(monkeypatch, (403, {"code": "lease_not_live"}))
    with pytest.raises(Unredeemed, match="HTTP 403") as raised:
        redeem_secrets(keeper)
    assert raised.value.is_refusal
    assert clock.slept == []


def test_a_secret_that_does_not_open_is_told_by_name_at_once(
    keeper: LeaseKeeper, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = {"message": "The secret `a` does not open.", "fields": ["secrets.a"], "hint": "Anew."}
    answer = answering(monkeypatch, (409, values))
    with pytest.raises(Unredeemed) as raised:
        redeem_secrets(keeper)
    failure = raised.value.failure
    assert failure is not None
    assert (failure.code, failure.field) == ("EHB-SECRET-UNREADABLE", "secrets.a")
    assert (failure.sentence, failure.hint) == (values["message"], values["hint"])
    assert (len(answer), clock.slept) == (1, [])


@pytest.mark.parametrize("content", [[], {}, {"secrets": None}, {"secrets": ["s3cret"]}, 7])
def test_an_answer_of_another_server_is_the_cause_and_is_not_repeated(
    keeper: LeaseKeeper, monkeypatch: pytest.MonkeyPatch, content: object
) -> None:
    answering(monkeypatch, (200, content))
    with pytest.raises(Unredeemed, match=r"^what answered is not the control plane$"):
        redeem_secrets(keeper)


def test_nobody_asks_once_the_lease_is_lost(
    clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = answering(monkeypatch, REFUSED)
    keeper = LeaseKeeper(Lease(kind=BUILD, id="abcdefgh", token=1, secret="x"), clock=clock)
    with pytest.raises(Interrupted):
        redeem_secrets(keeper)
    assert 1 < len(answer) < 15
