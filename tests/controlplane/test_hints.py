"""A broker that says nothing costs whoever sends a hint one short wait, and then none."""

import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import redis
from redis.connection import Connection

from controlplane.hints import HintLost, Hints
from controlplane.processes import ports, valkey
from tests.manual_clock import ManualClock
from tests.silent_server import attempts_at
from tests.waiting import DEADLINE_SECONDS

QUEUE = "hints-test"


def send(hints: Hints) -> None:
    hints.send("no.such_task", queue=QUEUE, arguments={"format": 1})


@pytest.fixture
def stoppable(tmp_path: Path, settings: Any) -> Iterator[subprocess.Popen[bytes]]:
    """A Valkey of the test's own, which is the broker."""
    with ports.reserved() as kept:
        port = ports.port_of(kept)
        valkey.initialise(tmp_path, port=port)
        settings.BROKER_URL = valkey.url(tmp_path, port=port)
        server = subprocess.Popen(list(valkey.command(tmp_path).argv), stdout=subprocess.DEVNULL)
        try:
            valkey.wait_until_ready(settings.BROKER_URL, timeout_seconds=DEADLINE_SECONDS)
            yield server
        finally:
            server.kill()
            server.wait()


@pytest.mark.parametrize("ask", [send, lambda hints: hints.queue_length(QUEUE)])
def test_a_broker_that_takes_calls_and_says_nothing_is_asked_once_and_then_left_alone(
    settings: Any, ask: Any
) -> None:
    clock = ManualClock()
    hints = Hints(clock=clock)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        settings.BROKER_URL = f"redis://127.0.0.1:{silent.getsockname()[1]}/0"
        for _ in range(3):
            with pytest.raises(HintLost):
                ask(hints)
        assert attempts_at(silent) == 1
        clock.advance(2)
        with pytest.raises(HintLost):
            ask(hints)
        assert attempts_at(silent) == 1


def test_a_broker_that_stands_still_costs_one_wait_and_is_used_again_when_it_goes_on(
    stoppable: subprocess.Popen[bytes],
) -> None:
    clock = ManualClock()
    hints = Hints(clock=clock)
    send(hints)
    waits: list[float] = []
    read = Connection.read_response

    def counted(connection: Connection, *arguments: Any, **named: Any) -> Any:
        try:
            return read(connection, *arguments, **named)
        except redis.TimeoutError:
            waits.append(connection.socket_timeout)
            raise

    stoppable.send_signal(signal.SIGSTOP)
    with patch.object(Connection, "read_response", counted):
        for _ in range(3):
            with pytest.raises(HintLost):
                send(hints)
            with pytest.raises(HintLost):
                hints.queue_length(QUEUE)
    assert sum(waits) <= 1
    stoppable.send_signal(signal.SIGCONT)
    clock.advance(2)
    before = hints.queue_length(QUEUE)
    send(hints)
    assert hints.queue_length(QUEUE) == before + 1


def test_a_broker_that_refuses_is_asked_once_each_time_without_a_pause(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.BROKER_URL = "redis://127.0.0.1:1/0"
    slept: list[float] = []
    for waiting in ("kombu.utils.functional.sleep", "redis.retry.sleep"):
        monkeypatch.setattr(waiting, slept.append)
    hints = Hints(clock=ManualClock())
    connect = Connection._connect
    with patch.object(Connection, "_connect", autospec=True, side_effect=connect) as tries:
        for _ in range(2):
            with pytest.raises(HintLost):
                send(hints)
    assert tries.call_count == 2
    assert slept == []
