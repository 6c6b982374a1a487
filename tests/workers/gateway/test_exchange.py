"""What an exchange does when routes change at a bad moment, in a gateway without a process."""

import asyncio
import json
from contextlib import closing
from typing import Any
from unittest.mock import Mock

from controlplane.clock import SYSTEM
from tests.waiting import DEADLINE_SECONDS
from tests.workers.gateway.stage.connections import request_bytes
from tests.workers.gateway.stage.engine import Engine
from tests.workers.gateway.stage.routes import routes
from tests.workers.gateway.stage.runner import suspect_row
from tests.workers.gateway.stage.scripts import answers
from workers.gateway.client_connection import ClientConnection
from workers.gateway.gateway import Gateway
from workers.gateway.recorder import Recorder
from workers.gateway.settings import Bounds
from workers.gateway.snapshot import Snapshot
from workers.gateway.snapshot_reading import read


class Wire(asyncio.Transport):
    """A client's connection; the beginning of what it was sent can be waited for."""

    def __init__(self) -> None:
        super().__init__()
        self.answered: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None: ...

    def is_closing(self) -> bool:
        return False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if not self.answered.done():
            self.answered.set_result(bytes(data))


def answer_when(before: Snapshot, meanwhile: Snapshot, *, body: bytes = b"") -> bytes:
    """Return what a client is told when routes change while a connection is being made.

    With a `body` they change between the request's head and that.
    """

    async def ask() -> bytes:
        gateway, wire = Gateway(Bounds(), Mock(spec=Recorder)), Wire()
        gateway.apply(before)
        client = ClientConnection(gateway)
        client.connection_made(wire)
        client.data_received(request_bytes(body).removesuffix(body) if body else request_bytes())
        gateway.apply(meanwhile)
        client.data_received(body)
        async with SYSTEM.timeout(DEADLINE_SECONDS):
            await wire.answered
        gateway.cut_off()
        await SYSTEM.pause(0)  # for the engine's idle connection to close
        return wire.answered.result()

    return asyncio.run(ask())


def snapshot(*ports: int, **changes: Any) -> Snapshot:
    return read(json.dumps(routes(*ports, **changes)).encode())


def test_a_replica_that_comes_while_a_dead_one_is_tried_is_asked(refusing_port: int) -> None:
    with closing(Engine(answers)) as engine:
        answer = answer_when(snapshot(refusing_port), snapshot(engine.port, version=2))
    assert answer.startswith(b"HTTP/1.1 200 ")


def test_a_deployment_that_ends_while_a_dead_replica_is_tried_is_said_to_be_gone(
    refusing_port: int,
) -> None:
    answer = answer_when(snapshot(refusing_port), snapshot(status="INACTIVE", version=2))
    assert answer.startswith(b"HTTP/1.1 404 ")
    assert b"is deactivated" in answer


def test_a_suspect_that_is_heard_again_before_the_body_is_here_is_asked() -> None:
    with closing(Engine(answers)) as engine:
        suspects = [suspect_row(engine.port, engine.port)]
        silent = snapshot(status="UNHEALTHY", suspects=suspects)
        answer = answer_when(silent, snapshot(engine.port, version=2), body=b"{}")
    assert answer.startswith(b"HTTP/1.1 200 ")


def test_a_deployment_that_ends_before_the_body_is_here_is_said_to_be_gone() -> None:
    ended = snapshot(status="INACTIVE", version=2)
    answer = answer_when(snapshot(status="UNHEALTHY"), ended, body=b"{}")
    assert answer.startswith(b"HTTP/1.1 404 ")
