"""Under all hostile senders at once the gateway holds little, and those who pay are served."""

import httpx
import psutil
import pytest

from tests.waiting import DEADLINE_SECONDS, wait_for
from tests.workers.gateway.stage.besiegers import ENDLESS, SERVED, Besieged, Siege, besieged
from tests.workers.gateway.stage.connections import NO_AUTHORITIES
from tests.workers.gateway.stage.engine import Engine
from tests.workers.gateway.stage.gateway_process import GatewayProcess
from tests.workers.gateway.stage.gateway_thread import GatewayThread
from tests.workers.gateway.stage.mad_engines import MAD, Mad
from tests.workers.gateway.stage.process_house import ProcessHouse
from tests.workers.gateway.stage.routes import CHAT, KEY, METRICS_KEY, routes
from tests.workers.gateway.stage.scripts import streams
from tests.workers.gateway.stage.tight import BUFFERED_BYTES
from workers.gateway.event_stream import LONGEST_EVENT_BYTES

ROUNDS, PAYING, PIECES = 3, 16, 8
LONG_ROUNDS = 300
"""About ten minutes on two quiet cores."""
A_WHILE_SECONDS = 25.0
"""How far the clock goes in a round: three are more than a body may stand still."""


@pytest.mark.wide
def test_a_siege_costs_bounded_memory_and_no_paying_client(house):
    mad = Mad()
    house.publish_snapshot(besieged(routes(house.engine(streams).port), house.engine(mad).port))
    gateway = house.gateway(buffered_bytes=BUFFERED_BYTES)
    most_bytes = []

    siege = Siege(gateway)
    try:
        for _ in range(ROUNDS):
            assert paying_clients(gateway, siege) == [200] * PAYING
            most_bytes.append(_held_bytes(gateway))
            gateway.advance(A_WHILE_SECONDS)
        wait_for(
            lambda: all(siege.waves[name] for name in ENDLESS.keys() - SERVED),
            what=lambda: f"every refusal: {siege.waves}",
            meanwhile=lambda: _press_on(siege, gateway),
        )
        wait_for(
            lambda: mad.went_mad_by == MAD.keys(),
            what=lambda: f"an engine that goes mad in every way: {mad.went_mad_by}",
            meanwhile=lambda: siege.press_on(PIECES),
        )
    finally:
        siege.lift()

    bounds = gateway.inner.bounds
    of_a_connection = 2 * bounds.head_bytes + bounds.pipelined_bytes + 2 * 256 * 1024
    of_connections = (len(ENDLESS) + 4) * of_a_connection
    assert max(most_bytes) <= BUFFERED_BYTES + of_connections + LONGEST_EVENT_BYTES
    wait_for(lambda: _held_bytes(gateway) == 0, what="memory that is given back")
    assert gateway.inner.metrics.slips == 0


class TightGateway(GatewayProcess):
    module = "tests.workers.gateway.stage.tight"


@pytest.mark.long
@pytest.mark.process
@pytest.mark.timeout(7200)
def test_a_long_siege_leaves_the_memory_of_a_gateways_process_where_it_was(process_house):
    house, engine, mad = process_house, process_house.engine(streams), process_house.engine(Mad())
    house.publish_snapshot(besieged(routes(engine.port), mad.port))
    gateway = house.gateway(kind=TightGateway)
    process, resident_bytes, paid = psutil.Process(gateway.process.pid), [], []

    siege = Siege(gateway)
    try:
        for _ in range(LONG_ROUNDS):
            assert paying_clients(gateway, siege) == [200] * PAYING
            resident_bytes.append(process.memory_info().rss)
            paid.append(_forget(house, engine, mad))
    finally:
        siege.lift()

    wait_for(
        lambda: sum(paid) == LONG_ROUNDS * PAYING,
        what=lambda: f"every paid stream in the books: {sum(paid)}",
        meanwhile=lambda: paid.append(_forget(house, engine, mad)),
    )
    early, late = resident_bytes[: LONG_ROUNDS // 5], resident_bytes[LONG_ROUNDS // 5 :]
    assert max(late) <= max(early) + BUFFERED_BYTES, [each >> 20 for each in resident_bytes]
    assert "gateway_slips_total 0.0" in _metrics(gateway)


def _press_on(siege: Siege, gateway: GatewayThread) -> None:
    siege.press_on(1)
    gateway.advance(1)


def paying_clients(gateway: Besieged, siege: Siege) -> list[int]:
    """Return the statuses of some streams, which are whole."""
    bearer = {"authorization": f"Bearer {KEY}"}
    body = {"messages": [], "stream": True, "user": "x" * 100_000}
    with httpx.Client(headers=bearer, timeout=DEADLINE_SECONDS, verify=NO_AUTHORITIES) as client:
        answers = []
        for _ in range(PAYING):
            siege.press_on(PIECES)
            answers.append(client.post(gateway.url + CHAT, json=body))
    assert all(answer.text.endswith("data: [DONE]\n\n") for answer in answers)
    return [answer.status_code for answer in answers]


def _forget(house: ProcessHouse, *engines: Engine) -> int:
    """Return how many paid streams were closed; let go of what engines and books keep of them."""
    for engine in engines:
        engine.calls.clear()
    house.plane.batches.clear()
    closed = [record["request_id"] for record in house.plane.closed_records()]
    records = [house.plane.records.pop(id) for id in closed]
    return sum(record["key_id"] == "keyaaaaa" and record["status"] == 200 for record in records)


def _metrics(gateway: GatewayProcess) -> str:
    return httpx.get(
        f"{gateway.url}/metrics",
        headers={"authorization": f"Bearer {METRICS_KEY}"},
        timeout=DEADLINE_SECONDS,
        verify=NO_AUTHORITIES,
    ).text


def _held_bytes(gateway: GatewayThread) -> int:
    """Return what the gateway keeps of what it was sent: bodies, unread requests, half heads.

    And half events.
    """
    of_clients = sum(
        len(client._backlog) + len(client._reader._earlier) + client._reader._still_bytes
        for client in gateway.clients
        if client._closes_at is None
    )
    replies = [exchange._reply for exchange in list(gateway.inner.exchanges)]
    events = [reply._events for reply in replies if reply is not None]
    of_engines = sum(len(each._pending) for each in events if each is not None)
    return gateway.inner.body_memory.held_bytes + of_clients + of_engines
