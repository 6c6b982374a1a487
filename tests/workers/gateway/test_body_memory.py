"""Bodies share the gateway's memory: who holds much leaves room for who comes."""

from contextlib import ExitStack

import pytest

from tests.waiting import wait_for
from tests.workers.gateway.stage.connections import read_answer, request_bytes
from tests.workers.gateway.stage.routes import CHAT, KEY, digest, key_row, routes
from tests.workers.gateway.stage.scripts import answers
from workers.gateway.body_memory import BodyMemory, address_of
from workers.gateway.request import Request
from workers.gateway.snapshot import Key, Scope

MEGABYTE = 1_000_000
SECOND_KEY = "second00.0123456789abcdef"


def key(id: str) -> Key:
    return Key(
        id=id, scope=Scope.FULL, team_id="t", model_ids=None, environments=None, expires_at=None,
        requests_per_minute=None, parallel_requests=None, tokens_per_minute=None, spent_until=None,
    )  # fmt: skip


def fill(memory: BodyMemory, id: str, address: str) -> tuple[int, int]:
    """Let a key take bodies until it may not; return how much it got and why it got no more."""
    got = 0
    while True:
        request = Request(address=address, body_bytes=MEGABYTE)
        if (refusal := memory.take(request, key(id))) is not None:
            return got, refusal.status
        got += MEGABYTE


def test_a_key_may_hold_half_and_the_next_half_of_the_rest():
    memory = BodyMemory(64 * MEGABYTE)
    assert fill(memory, "a", "1.1.1.1") == (32 * MEGABYTE, 429)
    assert fill(memory, "b", "2.2.2.2") == (16 * MEGABYTE, 429)
    assert fill(memory, "c", "3.3.3.3") == (8 * MEGABYTE, 429)


def test_an_address_with_many_keys_leaves_a_quarter():
    memory = BodyMemory(64 * MEGABYTE)
    got = [fill(memory, f"key{number}", "1.1.1.1") for number in range(9)]
    assert sum(size for size, _ in got) == 48 * MEGABYTE
    assert got[-1] == (0, 503)
    assert fill(memory, "other", "2.2.2.2") == (8 * MEGABYTE, 429)


def test_small_bodies_pass_where_large_ones_may_not():
    memory = BodyMemory(64 * MEGABYTE)
    fill(memory, "a", "1.1.1.1")
    assert memory.take(Request(address="1.1.1.1", body_bytes=64_000), key("a")) is None


def test_what_is_released_is_forgotten_whatever_became_of_the_key():
    memory = BodyMemory(64 * MEGABYTE)
    requests = [Request(address="1.1.1.1", body_bytes=size) for size in (1, MEGABYTE)]
    for request in requests:
        assert memory.take(request, key("a")) is None
        memory.release(request)
        memory.release(request)
    assert memory.held_bytes == 0
    assert not memory._by_key
    assert not memory._by_address


@pytest.mark.parametrize(
    ("peer", "address"),
    [
        (("10.0.0.7", 5), "10.0.0.7"),
        (("::ffff:10.0.0.7", 5, 0, 0), "10.0.0.7"),
        (("2001:db8:1:2::9", 5, 0, 0), "20010db800010002"),
        (("2001:db8:1:2:ffff::1", 5, 0, 0), "20010db800010002"),
        (("fe80::1%eth0", 5, 0, 2), "fe80000000000000"),
        ("", ""),
        (None, ""),
    ],
)
def test_addresses_that_one_host_may_choose_from_count_as_one(peer, address):
    assert address_of(peer) == address


@pytest.mark.parametrize("path", ["/health", "/metrics"])
@pytest.mark.parametrize("framing", ["content-length: 99000000", "transfer-encoding: chunked"])
def test_the_gateways_own_paths_take_no_body(serve, path, framing):
    gateway, _ = serve(answers)

    with gateway.connect() as client:
        client.sendall(f"POST {path} HTTP/1.1\r\nhost: g\r\n{framing}\r\n\r\n".encode())
        status, headers, body = read_answer(client)

    assert (status, headers["connection"]) == (400, "close")
    assert f"`{path}` takes no body" in body.decode()


def test_a_key_that_sends_large_bodies_leaves_room_for_another_one(house):
    snapshot = routes(house.engine(answers).port)
    snapshot["keys"][digest(SECOND_KEY)] = key_row("keysecon")
    house.publish_snapshot(snapshot)
    gateway = house.gateway(buffered_bytes=8 * MEGABYTE)
    head = f"POST {CHAT} HTTP/1.1\r\nhost: g\r\nauthorization: Bearer {KEY}\r\n"
    half = f"{head}content-length: {2 * MEGABYTE}\r\n\r\n".encode() + bytes(MEGABYTE)

    with ExitStack() as senders:
        for number in range(1, 7):  # one after the other: who is refused is no matter of chance
            senders.enter_context(gateway.connect()).sendall(half)
            wait_for(
                lambda number=number: _held_or_refused(gateway) == number * MEGABYTE,
                what=f"{number} bodies, held or refused",
            )
        assert gateway.inner.body_memory.held_bytes == 4 * MEGABYTE
        with gateway.connect() as client:
            body = b'{"messages":[],"user":"%b"}' % (b"x" * MEGABYTE)
            client.sendall(request_bytes(body, key=SECOND_KEY))
            assert read_answer(client)[0] == 200
    wait_for(lambda: gateway.inner.body_memory.held_bytes == 0, what="memory that is given back")


def test_a_body_that_comes_byte_by_byte_is_given_up(serve):
    gateway, _ = serve(answers)
    head = f"POST {CHAT} HTTP/1.1\r\nhost: g\r\nauthorization: Bearer {KEY}\r\n"

    with gateway.connect() as client:
        client.sendall(f"{head}content-length: 9000\r\n\r\n".encode() + b"x" * 5000)
        _wait_for_body(gateway, 5000)
        for more in range(3):
            gateway.advance(25)
            client.sendall(b"x")
            _wait_for_body(gateway, 5001 + more)
        gateway.advance(25)
        status, _, body = read_answer(client)

    assert status == 408
    assert b"Less than 4096 bytes of the request's body arrived in 60 s." in body


def _held_or_refused(gateway) -> int:
    refused = gateway.inner.metrics.refused.get(429, 0)
    return gateway.inner.body_memory.held_bytes + refused * MEGABYTE


def _wait_for_body(gateway, size_bytes: int) -> None:
    wait_for(
        lambda: any(each._reader.request.body_bytes >= size_bytes for each in gateway.clients),
        what=f"{size_bytes} bytes of a body",
    )
