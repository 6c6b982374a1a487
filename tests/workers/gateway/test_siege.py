"""Under all hostile senders at once the gateway holds little, and those who pay are served."""

import httpx
import pytest

from tests.waiting import DEADLINE_SECONDS, wait_for
from tests.workers.gateway.stage.besiegers import ENDLESS, GREEDY_KEY, Siege
from tests.workers.gateway.stage.connections import NO_AUTHORITIES
from tests.workers.gateway.stage.gateway_thread import GatewayThread
from tests.workers.gateway.stage.routes import CHAT, KEY, digest, key_row, routes
from tests.workers.gateway.stage.scripts import streams

BUFFERED_BYTES = 16 * 1024 * 1024
PAYING, PIECES = 20, 8
REFUSED = ENDLESS.keys() - {"offers to upgrade", "requests without a key", "other streams"}


@pytest.mark.parametrize("rounds", [3, pytest.param(600, marks=pytest.mark.long)])
def test_a_siege_costs_bounded_memory_and_no_paying_client(house, rounds):
    snapshot = routes(house.engine(streams).port)
    snapshot["keys"][digest(GREEDY_KEY)] = key_row("keygreed", limits={"parallel_requests": 2})
    house.publish_snapshot(snapshot)
    gateway = house.gateway(buffered_bytes=BUFFERED_BYTES)
    most_bytes = []

    siege = Siege(gateway)
    try:
        for _ in range(rounds):
            assert _paying_clients(gateway, siege) == [200] * PAYING
            most_bytes.append(_held_bytes(gateway))
        wait_for(
            lambda: all(siege.waves[name] for name in REFUSED),
            what=lambda: f"every refusal: {siege.waves}",
            meanwhile=lambda: siege.press_on(1),
        )
    finally:
        siege.lift()

    bounds = gateway.inner.bounds
    of_a_connection = 2 * bounds.head_bytes + bounds.pipelined_bytes + 2 * 256 * 1024
    assert max(most_bytes) <= BUFFERED_BYTES + (len(ENDLESS) + 4) * of_a_connection
    wait_for(lambda: _held_bytes(gateway) == 0, what="memory that is given back")
    assert gateway.inner.metrics.slips == 0


def _paying_clients(gateway: GatewayThread, siege: Siege) -> list[int]:
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


def _held_bytes(gateway: GatewayThread) -> int:
    """Return what the gateway keeps of what it was sent: bodies, unread requests, half heads."""
    kept = sum(
        len(client._backlog) + len(client._reader._earlier) + client._reader._still_bytes
        for client in gateway.clients
        if client._closes_at is None
    )
    return gateway.inner.body_memory.held_bytes + kept
