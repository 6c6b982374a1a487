"""Something else may answer at the control plane's address."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import closing
from typing import Any

import pytest

from controlplane.clock import SYSTEM, Clock
from tests.manual_clock import ManualClock
from tests.workers.gateway.stage.engine import Call, Engine, Script
from workers.gateway import control_plane
from workers.gateway.control_plane import (
    ALL_ROUTES_SECONDS,
    LONGEST_ANSWER_BYTES,
    WHOLE_ANSWER_SECONDS,
    ControlPlaneAway,
    Credential,
    HttpControlPlane,
)

CREDENTIAL = Credential(gateway_id="gateway1", secret="secret")
Question = Callable[[HttpControlPlane], Coroutine[Any, Any, object]]


def enroll(plane: HttpControlPlane) -> Coroutine[Any, Any, object]:
    return plane.enroll("token", name="gateway", address="127.0.0.1", secret="secret")


def send_usage(plane: HttpControlPlane) -> Coroutine[Any, Any, object]:
    return plane.send_usage(b"{}", CREDENTIAL)


@pytest.mark.parametrize("body", [b"<html>", b"[]", b"{}"])
@pytest.mark.parametrize(
    ("ask", "words"),
    [(enroll, "gateways/enroll did not answer with gateway_id"),
     (send_usage, "usage did not answer with committed_offset")],
)  # fmt: skip
def test_an_answer_of_another_server_is_none(ask: Question, words: str, body: bytes) -> None:
    with pytest.raises(ControlPlaneAway, match=words):
        answered(lambda call: call.answer(body), ask)


def routes_after(plane: HttpControlPlane) -> Coroutine[Any, Any, object]:
    return plane.routes_after(0, CREDENTIAL)


@pytest.mark.parametrize("ask", [enroll, send_usage, routes_after])
def test_an_answer_that_is_too_long_is_left(ask: Question, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_plane, "LONGEST_ROUTES_BYTES", 2 * LONGEST_ANSWER_BYTES)

    def endless(call: Call) -> None:
        call.send(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            call.send(b" " * 65536)

    with pytest.raises(ControlPlaneAway, match="answered with more than"):
        answered(endless, ask)


def routes_after_another(plane: HttpControlPlane) -> Coroutine[Any, Any, object]:
    return plane.routes_after(7, CREDENTIAL)


@pytest.mark.parametrize("begins", [b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\n\r\n"])
@pytest.mark.parametrize(
    ("ask", "seconds"),
    [(routes_after, ALL_ROUTES_SECONDS), (routes_after_another, WHOLE_ANSWER_SECONDS)],
)
def test_an_answer_that_comes_byte_by_byte_is_left_after_its_time(
    ask: Question, seconds: float, begins: bytes
) -> None:
    clock = ManualClock()

    def slow(call: Call) -> None:
        call.send(begins)
        while True:
            clock.advance(seconds / 10)
            call.send(b"x")

    with pytest.raises(ControlPlaneAway, match="routes: no whole answer in time"):
        answered(slow, ask, clock=clock)


def test_all_of_a_large_fleet_is_waited_for() -> None:
    clock = ManualClock()

    def busy(call: Call) -> None:
        clock.advance(ALL_ROUTES_SECONDS - 1)
        call.answer(b"{}")

    answered(busy, routes_after, clock=clock)
    with pytest.raises(ControlPlaneAway, match="routes: no"):
        answered(busy, routes_after_another, clock=clock)


@pytest.mark.parametrize("ask", [enroll, send_usage, routes_after])
def test_a_redirect_takes_no_credential_elsewhere(ask: Question) -> None:
    with closing(Engine(lambda call: call.answer(b"{}"))) as other:
        place = f"location: http://127.0.0.1:{other.port}/\r\n"
        with pytest.raises(ControlPlaneAway, match="answered 302"):
            answered(lambda call: call.answer(b"{}", 302, place), ask)
        assert other.calls == []


def answered(script: Script, ask: Question, clock: Clock = SYSTEM) -> None:
    """Ask a control plane that answers by the script."""

    async def answer(port: int) -> None:
        plane = HttpControlPlane(f"http://127.0.0.1:{port}", clock=clock)
        try:
            await ask(plane)
        finally:
            await plane.close()

    with closing(Engine(script)) as engine:
        asyncio.run(answer(engine.port))
