"""Several processes on one socket: started anew under traffic, killed and stopped."""

import json
import re
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import psutil
import pytest

from tests.waiting import DEADLINE_SECONDS, wait_for
from tests.workers.gateway.stage.connections import (
    NO_AUTHORITIES,
    read_until,
    request_bytes,
    request_id,
)
from tests.workers.gateway.stage.control_plane import TOKEN
from tests.workers.gateway.stage.engine import Call
from tests.workers.gateway.stage.gateway_process import GatewayProcess
from tests.workers.gateway.stage.process_house import ProcessHouse
from tests.workers.gateway.stage.routes import CHAT, KEY
from tests.workers.gateway.stage.scripts import answers, piece
from workers.gateway.settings import read_settings

pytestmark = pytest.mark.process
STREAM = b'{"model":"m","messages":[],"stream":true}'


class Group(GatewayProcess):
    variables = {"GATEWAY_PROCESSES": "2", "ENROLLMENT_TOKEN": f"{TOKEN},{TOKEN}"}

    def processes(self) -> set[int]:
        return {each.pid for each in psutil.Process(self.process.pid).children()}


@pytest.fixture
def group(process_house: ProcessHouse) -> Group:
    process_house.publish(process_house.engine(answers))
    group = process_house.gateway("--drain-seconds=60", kind=Group)
    assert isinstance(group, Group)
    _wait_for_routes(group, times=2)
    return group


def test_a_restart_under_traffic_refuses_nothing_and_a_kill_leaves_the_other(process_house, group):
    go_on = threading.Event()

    def slow_stream(call: Call) -> None:
        call.begin_stream()
        call.event(piece("one"))
        assert go_on.wait(DEADLINE_SECONDS)
        call.event(piece("two"))
        call.end_stream()

    engine = process_house.engines[0]
    engine.script = lambda call: slow_stream(call) if call.json().get("stream") else answers(call)
    before = group.processes()
    stream = group.connect()
    stream.sendall(request_bytes(STREAM))
    id = request_id(read_until(stream, b"one"))

    with _traffic(group) as outcomes:
        wait_for(lambda: len(outcomes) > 5, what="traffic")
        group.process.send_signal(signal.SIGHUP)
        wait_for(
            lambda: re.search("draining [1-9]", group.log.read_text()),
            what=lambda: f"the one with the stream to drain:\n{group.log.read_text()[-2000:]}",
        )
        seen = len(outcomes)
        wait_for(lambda: len(outcomes) > seen + 5, what="traffic beside the one that drains")
        go_on.set()
        assert b"[DONE]" in read_until(stream, b"[DONE]")
        process_house.wait_for_log(group, "all 2 processes were started anew")
        seen = len(outcomes)
        wait_for(lambda: len(outcomes) > seen + 5, what="traffic after it")
    stream.close()

    assert set(outcomes) == {200}
    assert len(group.processes()) == 2
    assert not group.processes() & before
    process_house.closed_record(id)
    assert {each["name"] for each in process_house.plane.enrolled} == {"data0", "data0-2"}
    _kill_one_while_the_other_serves(group)
    assert group.stop() == 0


def test_each_process_has_a_folder_a_name_and_a_token_of_its_own(tmp_path):
    given = {
        "CONTROL_PLANE_URL": "http://web", "DATA_DIR": str(tmp_path), "NODE_NAME": "host",
        "ENROLLMENT_TOKEN": "a,b", "GATEWAY_PROCESSES": "3",
    }  # fmt: skip
    leader = read_settings([], given)
    own = [read_settings(["--process", str(number)], given) for number in (1, 2, 3)]

    assert leader.leads
    assert not any(each.leads for each in own)
    assert [each.node_name for each in own] == ["host", "host-2", "host-3"]
    assert [each.enrollment_token for each in own] == ["a", "b", ""]
    assert [each.data_dir for each in own] == [
        tmp_path, tmp_path / "gateway-2", tmp_path / "gateway-3",
    ]  # fmt: skip


@contextmanager
def _traffic(group: Group) -> Iterator[list[object]]:
    """Ask again and again, each time on a connection of its own; give back what came of it."""
    outcomes: list[object] = []
    is_over = threading.Event()

    def ask() -> None:
        while not is_over.is_set():
            try:
                with httpx.Client(verify=NO_AUTHORITIES, timeout=DEADLINE_SECONDS) as client:
                    outcomes.append(_ask(client, group))
            except httpx.HTTPError as error:
                outcomes.append(repr(error))

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        yield outcomes
    finally:
        is_over.set()
        asking.join()


def _ask(client: httpx.Client, group: Group) -> int:
    headers = {"authorization": f"Bearer {KEY}", "connection": "close"}
    body = json.dumps({"messages": []})
    return client.post(group.url + CHAT, headers=headers, content=body).status_code


def _kill_one_while_the_other_serves(group: Group) -> None:
    killed, other = sorted(group.processes())
    psutil.Process(killed).kill()
    with httpx.Client(verify=NO_AUTHORITIES, timeout=DEADLINE_SECONDS) as client:
        assert _ask(client, group) == 200
    wait_for(lambda: len(group.processes() - {killed}) == 2, what="another process")
    assert other in group.processes()
    _wait_for_routes(group, times=5)


def _wait_for_routes(group: Group, *, times: int) -> None:
    """Return once so many processes of it, of all that ran, have had routes."""
    words = "applied routes version 1:"
    wait_for(lambda: group.log.read_text().count(words) >= times, what=f"{times} with routes")
