"""kill -9 and SIGTERM at a bad moment: no request is lost from the books, none is counted twice."""

import os
import signal
import threading
import time

import pytest

from tests.timing import quickest
from tests.workers.gateway.stage.connections import (
    read_until,
    read_until_closed,
    request_bytes,
    request_id,
)
from tests.workers.gateway.stage.engine import Call
from tests.workers.gateway.stage.routes import CHAT, routes
from tests.workers.gateway.stage.scripts import answers, piece
from tests.workers.gateway.stage.waiting import until

STREAM = b'{"model":"m","messages":[],"stream":true}'


class Endless:
    """Streams until the gateway hangs up or it is told to finish."""

    def __init__(self) -> None:
        self.finish = threading.Event()

    def __call__(self, call: Call) -> None:
        call.begin_stream()
        while not self.finish.wait(0.02):
            call.event(piece("on"))
        call.end_stream()


@pytest.mark.recovery
def test_a_gateway_killed_in_mid_stream_comes_back_from_disk_and_closes_the_books(house, http):
    house.publish(engine := house.engine(answers))
    gateway = house.gateway()
    finished = http.post(gateway.url + CHAT, json={})
    house.record_of(finished)
    engine.script = Endless()
    client = gateway.connect()
    client.sendall(request_bytes(STREAM))
    id = request_id(read_until(client, b"\r\n\r\n"))
    until(lambda: house.plane.records.get(id, {}).get("state") == "running")

    house.plane.go_away()
    gateway.kill()
    client.close()
    engine.script = answers
    gateway.start()
    until(lambda: http.post(gateway.url + CHAT, json={}).status_code == 200)

    house.plane.snapshot = routes(engine.port, version=2)
    house.plane.come_back()
    interrupted = house.closed_record(id)
    assert interrupted["status"] is None
    assert interrupted["duration_seconds"] > 0.9
    until(lambda: len(house.plane.closed_records()) == 3)
    assert [record["status"] for record in house.plane.closed_records()].count(200) == 2
    assert len(house.plane.records) == 3
    journal = gateway.data_dir / "gateway" / "journal"
    until(lambda: len(list(journal.iterdir())) == 1)


@pytest.mark.recovery
def test_sigterm_lets_streams_end_takes_nothing_new_and_leaves_no_records_behind(house):
    script = Endless()
    house.publish(house.engine(script))
    gateway = house.gateway("--drain-seconds=60", "--last-shipment-seconds=30")
    idle = gateway.connect()
    client = gateway.connect()
    client.sendall(request_bytes(STREAM))
    read_until(client, b"data: ")

    gateway.process.send_signal(signal.SIGTERM)
    assert idle.recv(1) == b""
    script.finish.set()
    rest = read_until_closed(client)

    assert rest.endswith(b"data: [DONE]\n\n\r\n0\r\n\r\n")
    assert gateway.process.wait(30) == 0
    assert [record["status"] for record in house.plane.closed_records()] == [200]
    assert list((gateway.data_dir / "gateway" / "journal").iterdir()) == []
    idle.close()
    client.close()


@pytest.mark.recovery
def test_a_drain_has_an_end_and_what_it_cuts_is_closed_in_the_books(house):
    house.publish(house.engine(Endless()))

    def seconds_until_stopped() -> float:
        gateway = house.gateway("--drain-seconds=0.3", "--last-shipment-seconds=30")
        with gateway.connect() as client:
            client.sendall(request_bytes(STREAM))
            read_until(client, b"data: ")
            started = time.monotonic()
            assert gateway.stop() == 0
            seconds = time.monotonic() - started
            assert b"gateway_stopping" in read_until_closed(client)
        return seconds

    assert quickest(seconds_until_stopped, enough=3) <= 3
    statuses = [record["status"] for record in house.plane.closed_records()]
    assert statuses == [503] * len(house.gateways)


@pytest.mark.recovery
def test_usage_waits_on_disk_while_the_control_plane_is_away(house, http):
    house.publish(house.engine(answers))
    gateway = house.gateway()
    house.plane.go_away()
    asked = [http.post(gateway.url + CHAT, json={}) for _ in range(5)]
    assert gateway.stop() == 0

    house.plane.come_back()
    gateway.start()

    for answer in asked:
        assert house.record_of(answer)["completion_tokens"] == 3


def test_a_lost_answer_to_usage_is_asked_again_and_counted_once(house, http):
    house.publish(house.engine(answers))
    gateway = house.gateway()
    house.plane.loses_next_usage_answer = True

    for _ in range(3):
        house.record_of(http.post(gateway.url + CHAT, json={}))

    batches = house.plane.batches
    taken = [b["from_offset"] for b in batches if b["records"]]
    assert len(house.plane.records) == 3
    assert sorted(set(taken)) == taken


def test_a_second_gateway_on_the_same_directory_does_not_start(house, tmp_path):
    house.publish(house.engine(answers))
    first = house.gateway()
    second = type(first)(house.plane.url, first.data_dir)
    house.gateways.append(second)

    assert second.process.wait(30) == 1
    assert "Another gateway already runs on" in second.log.read_text()
    assert first.process.poll() is None


def test_a_wrong_setting_stops_the_start_and_is_named(tmp_path):
    from workers.gateway.settings import WrongSetting, read_settings

    with pytest.raises(WrongSetting, match="CONTROL_PLANE_URL"):
        read_settings([], {"DATA_DIR": str(tmp_path), "CONTROL_PLANE_URL": "localhost"})
    assert "secret-token" not in repr(
        read_settings(
            [], os.environ | {"CONTROL_PLANE_URL": "http://x", "ENROLLMENT_TOKEN": "secret-token"}
        )
    )
