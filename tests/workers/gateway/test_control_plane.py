"""Something else may answer at the control plane's address."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import closing
from typing import Any

import pytest

from tests.workers.gateway.stage.engine import Engine
from workers.gateway.control_plane import ControlPlaneAway, Credential, HttpControlPlane

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
    async def answer(port: int) -> None:
        plane = HttpControlPlane(f"http://127.0.0.1:{port}")
        try:
            await ask(plane)
        finally:
            await plane.close()

    with (
        closing(Engine(lambda call: call.answer(body))) as engine,
        pytest.raises(ControlPlaneAway, match=words),
    ):
        asyncio.run(answer(engine.port))
