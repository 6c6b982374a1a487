"""When a gateway's process polls and how long it drains, by a clock that the test moves."""

import socket
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import closing
from functools import partial
from pathlib import Path

import httpx
import pytest

from tests.manual_clock import ManualClock
from tests.waiting import DEADLINE_SECONDS, wait_for
from tests.workers.gateway.stage.connections import (
    NO_AUTHORITIES,
    connection_to,
    read_until,
    request_bytes,
)
from tests.workers.gateway.stage.control_plane import TOKEN, ControlPlane
from tests.workers.gateway.stage.engine import Engine
from tests.workers.gateway.stage.loop_thread import LoopThread
from tests.workers.gateway.stage.routes import CHAT, KEY, digest, key_row, routes
from tests.workers.gateway.stage.scripts import answers, endless
from workers.gateway import process
from workers.gateway.process import LAST_WORDS_SECONDS, Process
from workers.gateway.settings import Bounds, Settings
from workers.gateway.storage import Storage


class ProcessThread:
    """All of a gateway's process but the process."""

    def __init__(self, folder: Path, plane: ControlPlane, clock: ManualClock) -> None:
        self._clock, self._loop = clock, LoopThread()
        settings = Settings(
            control_plane_url=plane.url,
            data_dir=folder,
            enrollment_token=TOKEN,
            node_name="gateway",
            node_address="127.0.0.1",
        )
        listener = socket.create_server(("127.0.0.1", 0))
        self.port = listener.getsockname()[1]
        self._process = self._loop.call(self._make, settings)
        self.served: Future[None] = self._loop.start(self._process.serve(listener))

    @property
    def running(self) -> int:
        return len(self._process._gateway.exchanges)

    def stop(self) -> None:
        self._loop.call(self._process.stop)

    def advance(self, seconds: float) -> None:
        """Move the clock between two steps of the process, never within one."""
        self._loop.call(self._clock.advance, seconds)

    def close(self) -> None:
        """End it, however much of its time that takes."""
        self.stop()
        wait_for(self.served.done, what="its end", meanwhile=lambda: self.advance(1))
        self._loop.close()

    def _make(self, settings: Settings) -> Process:
        return Process(settings, Storage(settings.data_dir), clock=self._clock)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def engine() -> Iterator[Engine]:
    with closing(Engine(endless)) as engine:
        yield engine


@pytest.fixture
def plane(engine: Engine) -> Iterator[ControlPlane]:
    with closing(ControlPlane()) as plane:
        plane.snapshot = routes(engine.port)
        yield plane


@pytest.fixture
def gateway(
    tmp_path: Path, plane: ControlPlane, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> Iterator[ProcessThread]:
    # What pytest has loaded is not this gateway's to freeze.
    monkeypatch.setattr(process, "_calm_the_collector", lambda: None)
    with closing(ProcessThread(tmp_path, plane, clock)) as gateway:
        wait_for(lambda: plane.applied == [1], what="the first routes")
        yield gateway


def test_routes_are_asked_for_again_as_seconds_pass(
    gateway: ProcessThread, plane: ControlPlane, engine: Engine
) -> None:
    plane.snapshot = routes(engine.port, version=2)
    # A request's own time limit waits on the clock too: a single move might come before the pause.
    wait_for(
        lambda: plane.applied == [1, 2],
        what=lambda: f"the second: {plane.applied}",
        meanwhile=lambda: gateway.advance(1),
    )


def test_a_drain_ends_after_its_time_and_what_it_cuts_is_told_and_booked(
    gateway: ProcessThread, plane: ControlPlane
) -> None:
    with connection_to(gateway.port) as client:
        client.sendall(request_bytes(b'{"stream":true}'))
        read_until(client, b"data: ")
        gateway.stop()
        gateway.advance(Bounds.drain_seconds - 1)
        assert gateway.running == 1
        gateway.advance(1)
        assert b"gateway_stopping" in read_until(client, b"0\r\n\r\n")

    gateway.advance(LAST_WORDS_SECONDS)
    gateway.served.result(DEADLINE_SECONDS)
    assert [record["status"] for record in plane.closed_records()] == [503]


@pytest.mark.parametrize("ahead_days", [40, -40])
def test_a_key_ends_by_the_control_planes_time_on_a_host_with_another(
    gateway: ProcessThread,
    plane: ControlPlane,
    clock: ManualClock,
    engine: Engine,
    ahead_days: int,
) -> None:
    engine.script = answers
    there = clock.time() - ahead_days * 86400.0
    snapshot = routes(engine.port, version=2)
    snapshot["keys"][digest(KEY)] = key_row("keyaaaaa", expires_at=there + 3600)
    plane.time, plane.snapshot = there, snapshot
    wait_for(
        lambda: 2 in plane.applied,
        what="the routes with such a key",
        meanwhile=lambda: gateway.advance(1),
    )
    with httpx.Client(base_url=f"http://127.0.0.1:{gateway.port}", verify=NO_AUTHORITIES) as http:
        ask = partial(http.post, CHAT, json={}, headers={"authorization": f"Bearer {KEY}"})
        assert ask().status_code == 200
        plane.time = there + 3600
        wait_for(
            lambda: ask().status_code == 401,
            what="the end of the key",
            meanwhile=lambda: gateway.advance(1),
        )


def test_a_batch_says_when_it_was_sent_by_the_clock_of_its_records(
    gateway: ProcessThread, plane: ControlPlane, clock: ManualClock, engine: Engine
) -> None:
    engine.script, plane.time = answers, clock.time() + 40 * 86400.0
    with httpx.Client(base_url=f"http://127.0.0.1:{gateway.port}", verify=NO_AUTHORITIES) as http:
        answer = http.post(CHAT, json={}, headers={"authorization": f"Bearer {KEY}"})
    assert answer.status_code == 200
    wait_for(
        lambda: len(plane.closed_records()) == 1,
        what="its record",
        meanwhile=lambda: gateway.advance(1),
    )
    (batch,) = [
        each for each in plane.batches if "closed" in {row["state"] for row in each["records"]}
    ]
    assert 0 <= batch["sent_at"] - plane.closed_records()[0]["at"] <= clock.monotonic()


def test_one_that_is_cut_off_for_a_day_says_so_and_serves_again_when_it_is_not(
    gateway: ProcessThread, plane: ControlPlane, engine: Engine
) -> None:
    engine.script = answers
    with httpx.Client(base_url=f"http://127.0.0.1:{gateway.port}", verify=NO_AUTHORITIES) as http:
        ask = partial(http.post, CHAT, json={}, headers={"authorization": f"Bearer {KEY}"})
        plane.go_away()
        gateway.advance(Bounds.honour_routes_seconds - 60)
        assert (ask().status_code, http.get("/health").status_code) == (200, 200)

        wait_for(
            lambda: http.get("/health").status_code == 503,
            what="it to say so",
            meanwhile=lambda: gateway.advance(61),
        )
        assert http.get("/health").json()["status"] == "unconfirmed"
        refused = ask()
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "60")
        assert refused.json()["error"]["code"] == "routes_unconfirmed"

        plane.come_back()
        wait_for(
            lambda: http.get("/health").status_code == 200,
            what="the routes to be confirmed",
            meanwhile=lambda: gateway.advance(1),
        )
        assert ask().status_code == 200
