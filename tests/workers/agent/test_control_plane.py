"""Whoever answers at the control plane's address: the agent goes on, and tells nobody else."""

from collections.abc import Callable
from contextlib import closing

import pytest

from controlplane.domain.wire.removal import removal_signature
from tests.workers.gateway.stage.engine import Call, Engine
from workers.agent.control_plane import (
    LONGEST_ANSWER_BYTES,
    ControlPlaneAway,
    HttpControlPlane,
    NodeRemoved,
    NotEnrolled,
    enroll,
)
from workers.agent.enrollment import sha256_of

Ask = Callable[[str], object]


def observe(url: str) -> object:
    return HttpControlPlane(url, "credential").observe({})


def ship(url: str) -> object:
    return HttpControlPlane(url, "credential").ship_log(
        replica_id="r", attempt=1, sequence=0, text="hi"
    )


def join(url: str) -> object:
    return enroll(url, "token", {})


def endless(call: Call) -> None:
    call.send(b"HTTP/1.1 200 OK\r\ncontent-length: 200000000\r\n\r\n")
    for _ in range(2 * LONGEST_ANSWER_BYTES // 65536):
        call.send(b" " * 65536)


def nothing_http(call: Call) -> None:
    call.send(b"SSH-2.0-OpenSSH\r\n\r\n")


@pytest.mark.parametrize("ask", [observe, ship, join])
@pytest.mark.parametrize("script", [endless, nothing_http])
def test_an_answer_without_end_or_sense_is_a_control_plane_that_is_away(
    ask: Ask, script: Callable[[Call], None]
) -> None:
    with closing(Engine(script)) as engine, pytest.raises(ControlPlaneAway):
        ask(f"http://127.0.0.1:{engine.port}")


@pytest.mark.parametrize("ask", [observe, join])
@pytest.mark.parametrize(
    "content",
    [b"<html>", b"[]", b"{}", b"[" * 100_000, b'{"replicas":{}}', b'{"replicas":[1],"node_id":2}'],
)
def test_an_answer_of_another_server_is_a_control_plane_that_is_away(
    ask: Ask, content: bytes
) -> None:
    with (
        closing(Engine(lambda call: call.answer(content))) as engine,
        pytest.raises(ControlPlaneAway),
    ):
        ask(f"http://127.0.0.1:{engine.port}")


@pytest.mark.parametrize("ask", [observe, ship, join])
def test_a_redirect_takes_no_credential_elsewhere(ask: Ask) -> None:
    with closing(Engine(lambda call: call.answer(b"{}"))) as other:
        place = f"location: http://127.0.0.1:{other.port}/\r\n"
        with (
            closing(Engine(lambda call: call.answer(b"{}", 302, place))) as engine,
            pytest.raises(ControlPlaneAway, match="302"),
        ):
            ask(f"http://127.0.0.1:{engine.port}")
        assert other.calls == []


def test_a_refused_credential_is_told_in_the_words_of_the_control_plane() -> None:
    with (
        closing(Engine(lambda call: call.answer({"message": "It was revoked."}, 401))) as engine,
        pytest.raises(NotEnrolled, match="It was revoked"),
    ):
        observe(f"http://127.0.0.1:{engine.port}")


def _removal(signature: str) -> dict[str, object]:
    return {"message": "It was removed.", "details": {"node_id": "n1", "signature": signature}}


def test_a_removal_counts_when_the_control_plane_has_signed_it_for_this_node() -> None:
    mine = removal_signature(credential_sha256=sha256_of("credential"), node_id="n1")
    with (
        closing(Engine(lambda call: call.answer(_removal(mine), 410))) as engine,
        pytest.raises(NodeRemoved, match="It was removed"),
    ):
        observe(f"http://127.0.0.1:{engine.port}")


@pytest.mark.parametrize(
    "body",
    [
        _removal(removal_signature(credential_sha256=sha256_of("another"), node_id="n1")),
        _removal("\u00e9"),
        {"message": "Gone.", "details": None},
        {"message": "Gone."},
    ],
)
def test_a_410_of_anybody_else_is_a_control_plane_that_is_away(body: dict[str, object]) -> None:
    with (
        closing(Engine(lambda call: call.answer(body, 410))) as engine,
        pytest.raises(ControlPlaneAway, match="410") as refused,
    ):
        observe(f"http://127.0.0.1:{engine.port}")
    assert not isinstance(refused.value, NodeRemoved)


def test_what_no_machine_can_store_is_told_without_it() -> None:
    def script(call: Call) -> None:
        messages.append(call.json())
        call.answer({"replicas": []})

    messages: list[object] = []
    observation = {"user": "a\udcffb\x00", "used_bytes": 2**63, "share": float("nan")}
    with closing(Engine(script)) as engine:
        HttpControlPlane(f"http://127.0.0.1:{engine.port}", "credential").observe(observation)
    assert messages == [{"user": "ab", "used_bytes": None, "share": None}]
