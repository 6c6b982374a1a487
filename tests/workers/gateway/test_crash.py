"""kill -9 and SIGTERM at a bad moment: no request is lost from the books, none is counted twice."""

import signal
import threading

import pytest

from tests.waiting import DEADLINE_SECONDS, wait_for
from tests.workers.gateway.stage.connections import (
    read_until,
    read_until_closed,
    request_bytes,
    request_id,
)
from tests.workers.gateway.stage.engine import Call
from tests.workers.gateway.stage.routes import CHAT, routes
from tests.workers.gateway.stage.scripts import answers, endless, piece
from workers.gateway.exchange import RUNNING_RECORD_SECONDS

pytestmark = pytest.mark.process
STREAM = b'{"model":"m","messages":[],"stream":true}'


@pytest.mark.recovery
def test_a_gateway_killed_in_mid_stream_comes_back_from_disk_and_closes_the_books(
    process_house, http
):
    process_house.publish(engine := process_house.engine(answers))
    gateway = process_house.gateway()
    finished = http.post(gateway.url + CHAT, json={})
    process_house.record_of(finished)
    engine.script = endless
    client = gateway.connect()
    client.sendall(request_bytes(STREAM))
    id = request_id(read_until(client, b"\r\n\r\n"))
    wait_for(
        lambda: process_house.plane.records.get(id, {}).get("state") == "running",
        what="the record of a request that runs",
    )

    process_house.plane.go_away()
    gateway.kill()
    client.close()
    engine.script = answers
    gateway.start()
    assert http.post(gateway.url + CHAT, json={}).status_code == 200

    process_house.plane.snapshot = routes(engine.port, version=2)
    process_house.plane.come_back()
    interrupted = process_house.closed_record(id)
    assert interrupted["status"] is None
    assert interrupted["duration_seconds"] > RUNNING_RECORD_SECONDS, "as that record says"
    wait_for(lambda: len(process_house.plane.closed_records()) == 3, what="three closed records")
    assert [record["status"] for record in process_house.plane.closed_records()].count(200) == 2
    assert len(process_house.plane.records) == 3
    journal = gateway.data_dir / "gateway" / "journal"
    wait_for(lambda: len(list(journal.iterdir())) == 1, what="the end of shipped segments")


@pytest.mark.recovery
def test_sigterm_lets_streams_end_takes_nothing_new_and_leaves_no_records_behind(process_house):
    def script(call: Call) -> None:
        call.begin_stream()
        call.event(piece("on"))
        assert finish.wait(DEADLINE_SECONDS)
        call.end_stream()

    finish = threading.Event()
    process_house.publish(process_house.engine(script))
    gateway = process_house.gateway("--drain-seconds=120", "--last-shipment-seconds=60")
    idle = gateway.connect()
    client = gateway.connect()
    client.sendall(request_bytes(STREAM))
    read_until(client, b"data: ")

    gateway.process.send_signal(signal.SIGTERM)
    assert idle.recv(1) == b""
    finish.set()
    rest = read_until_closed(client)

    assert rest.endswith(b"data: [DONE]\n\n\r\n0\r\n\r\n")
    assert gateway.process.wait(DEADLINE_SECONDS) == 0
    assert [record["status"] for record in process_house.plane.closed_records()] == [200]
    assert list((gateway.data_dir / "gateway" / "journal").iterdir()) == []
    idle.close()
    client.close()


@pytest.mark.recovery
def test_a_drain_has_an_end_and_what_it_cuts_is_closed_in_the_books(process_house):
    process_house.publish(process_house.engine(endless))
    gateway = process_house.gateway("--drain-seconds=0.3", "--last-shipment-seconds=60")

    with gateway.connect() as client:
        client.sendall(request_bytes(STREAM))
        read_until(client, b"data: ")
        assert gateway.stop() == 0
        assert b"gateway_stopping" in read_until_closed(client)

    assert [record["status"] for record in process_house.plane.closed_records()] == [503]


@pytest.mark.recovery
def test_usage_waits_on_disk_while_the_control_plane_is_away(process_house, http):
    process_house.publish(process_house.engine(answers))
    gateway = process_house.gateway()
    process_house.plane.go_away()
    request = [http.post(gateway.url + CHAT, json={}) for _ in range(5)]
    assert gateway.stop() == 0

    process_house.plane.come_back()
    gateway.start()

    for answer in request:
        assert process_house.record_of(answer)["completion_tokens"] == 3


def test_a_lost_answer_to_usage_is_asked_again_and_counted_once(process_house, http):
    process_house.publish(process_house.engine(answers))
    gateway = process_house.gateway()
    process_house.plane.loses_next_usage_answer = True

    for _ in range(3):
        process_house.record_of(http.post(gateway.url + CHAT, json={}))

    batches = process_house.plane.batches
    taken = [b["from_offset"] for b in batches if b["records"]]
    assert len(process_house.plane.records) == 3
    assert sorted(set(taken)) == taken


def test_a_second_gateway_on_the_same_directory_does_not_start(process_house, tmp_path):
    process_house.publish(process_house.engine(answers))
    first = process_house.gateway()
    second = type(first)(process_house.plane.url, first.data_dir)
    process_house.gateways.append(second)

    assert second.process.wait(DEADLINE_SECONDS) == 1
    assert "Another gateway already runs on" in second.log.read_text()
    assert first.process.poll() is None
