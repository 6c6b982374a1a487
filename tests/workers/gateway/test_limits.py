"""Bodies, heads, rates and times have bounds, and passing one is said in plain words."""

import threading

import pytest

from tests.waiting import DEADLINE_SECONDS, wait_for
from tests.workers.gateway.stage.connections import (
    read_answer,
    read_until,
    read_until_closed,
    request_bytes,
)
from tests.workers.gateway.stage.engine import Call
from tests.workers.gateway.stage.gateway_thread import GatewayThread
from tests.workers.gateway.stage.routes import CHAT, KEY, digest, key_row, routes
from tests.workers.gateway.stage.scripts import answers, endless, piece
from workers.gateway.client_connection import LINGER_SECONDS

STREAM = b'{"model":"m","messages":[],"stream":true}'
HEAD = f"POST {CHAT} HTTP/1.1\r\nhost: g\r\nauthorization: Bearer {KEY}\r\n"


def test_a_body_that_says_it_is_too_large_is_refused_before_it_is_sent(serve):
    gateway, engine = serve(answers)

    with gateway.connect() as client:
        client.sendall(f"{HEAD}content-length: 100000001\r\n\r\n".encode())
        status, headers, body = read_answer(client)

    assert (status, headers["connection"]) == (413, "close")
    assert b"larger than 100 MB" in body
    assert engine.calls == []


def test_a_chunked_body_is_refused_when_it_has_grown_too_large(serve):
    gateway, _ = serve(answers)
    chunk = b"%x\r\n%b\r\n" % (1 << 20, bytes(1 << 20))

    with gateway.connect() as client:
        client.sendall(f"{HEAD}transfer-encoding: chunked\r\n\r\n".encode())
        sender = threading.Thread(target=_send, args=(client, chunk, 97))
        sender.start()
        assert read_answer(client)[0] == 413
        sender.join()


def test_an_upload_without_a_key_is_refused_unread(serve):
    gateway, _ = serve(answers)

    with gateway.connect() as client:
        client.sendall(b"POST / HTTP/1.1\r\nhost: g\r\ncontent-length: 99000000\r\n\r\n")
        assert read_answer(client)[0] == 401


@pytest.mark.parametrize("head", ["x: " + "y" * 70_000, "\r\n".join(["x: y"] * 200)])
def test_a_head_that_is_too_large_is_refused(serve, head):
    gateway, _ = serve(answers)

    with gateway.connect() as client:
        client.sendall(f"{HEAD}{head}\r\n\r\n".encode())
        assert read_until_closed(client).startswith(b"HTTP/1.1 431 ")


def test_a_head_that_never_ends_is_refused(serve):
    gateway, _ = serve(answers)

    with gateway.connect() as client:
        client.sendall(HEAD.encode() + b"x: ")
        sender = threading.Thread(target=_send, args=(client, b"y" * 1024, 80))
        sender.start()
        assert read_until_closed(client).startswith(b"HTTP/1.1 431 ")
        sender.join()


def test_a_key_may_send_so_many_requests_a_minute(house, http):
    snapshot = routes(house.engine(answers).port)
    limits = {"requests_per_minute": 3, "parallel_requests": None}
    snapshot["keys"][digest(KEY)] = key_row("keyaaaaa", limits=limits)
    house.publish_snapshot(snapshot)
    gateway = house.gateway()

    replies = [http.post(gateway.url + CHAT, json={}) for _ in range(4)]

    assert [reply.status_code for reply in replies] == [200, 200, 200, 429]
    assert replies[3].headers["retry-after"] == "20"
    assert replies[3].json()["error"]["type"] == "rate_limit_error"
    house.clock.advance(20)
    assert http.post(gateway.url + CHAT, json={}).status_code == 200
    assert http.post(gateway.url + CHAT, json={}).status_code == 429


def test_a_key_may_run_so_many_requests_at_a_time(house, http):
    release = threading.Event()

    def slow(call: Call) -> None:
        release.wait(DEADLINE_SECONDS)
        answers(call)

    engine = house.engine(slow)
    snapshot = routes(engine.port)
    limits = {"requests_per_minute": None, "parallel_requests": 1}
    snapshot["keys"][digest(KEY)] = key_row("keyaaaaa", limits=limits)
    house.publish_snapshot(snapshot)
    gateway = house.gateway()
    with gateway.connect() as first:
        first.sendall(request_bytes())
        wait_for(lambda: engine.calls, what="the first request at the engine")
        second = http.post(gateway.url + CHAT, json={})
        release.set()
        assert read_answer(first)[0] == 200

    assert (second.status_code, second.headers["retry-after"]) == (429, "1")
    assert "1 requests at a time" in second.json()["error"]["message"]
    assert http.post(gateway.url + CHAT, json={}).status_code == 200


def test_a_key_may_use_so_many_tokens_a_minute(house, http):
    snapshot = routes(house.engine(answers).port)
    snapshot["keys"][digest(KEY)] = key_row("keyaaaaa", limits={"tokens_per_minute": 1})
    house.publish_snapshot(snapshot)
    gateway = house.gateway()

    first, second = (http.post(gateway.url + CHAT, json={}) for _ in range(2))

    assert (first.status_code, second.status_code) == (200, 429)
    assert second.headers["retry-after"] == "600"
    assert "1 tokens a minute" in second.json()["error"]["message"]
    house.clock.advance(600)
    assert http.post(gateway.url + CHAT, json={}).status_code == 200


def test_a_key_that_has_spent_its_money_is_402_until_the_month_ends(house, http):
    engine = house.engine(answers)
    snapshot = routes(engine.port)
    limits = {"spent_until": house.clock.time() + 3600}
    snapshot["keys"][digest(KEY)] = key_row("keyaaaaa", limits=limits)
    house.publish_snapshot(snapshot)
    gateway = house.gateway()

    answer = http.post(gateway.url + CHAT, json={})

    assert answer.status_code == 402
    assert answer.headers["retry-after"] == "3600"
    assert answer.json()["error"]["code"] == "insufficient_quota"
    assert engine.calls == []
    house.clock.advance(3600)
    assert http.post(gateway.url + CHAT, json={}).status_code == 200


def test_a_key_near_its_limit_is_stopped_by_what_gateways_count_themselves(house, http):
    engine = house.engine(answers)
    snapshot, now = routes(engine.port), house.clock.time()
    deployment_id = snapshot["models"]["modelaaa"]["environments"]["production"]
    hour = {"hour": int(now) // 3600 * 3600, "deployment_id": deployment_id, "money": 4.0,
            "tokens": 100, "key_tokens": 0, "key_money": 0.0}  # fmt: skip
    spend = {"left": 0.1, "measured_at": now, "hours": [hour]}
    snapshot["keys"][digest(KEY)] = key_row("keyaaaaa", limits={"spend": spend})
    house.publish_snapshot(snapshot)
    gateway = house.gateway()

    first, second = (http.post(gateway.url + CHAT, json={}) for _ in range(2))

    assert (first.status_code, second.status_code) == (200, 402)
    assert second.headers["retry-after"] == "60"
    assert second.json()["error_code"] == "spend_limit_reached"


def test_an_engine_that_does_not_begin_in_time_is_given_up(serve, http, background):
    gateway, engine = serve(Call.wait_for_hang_up)
    future = background.submit(http.post, gateway.url + CHAT, json={})
    wait_for(lambda: engine.calls, what="the request at the engine")

    gateway.advance(1200)
    assert len(gateway.inner.exchanges) == 1
    gateway.advance(1)

    answer = future.result(DEADLINE_SECONDS)
    assert answer.status_code == 504
    assert "did not begin to answer within 1200 s" in answer.json()["error"]["message"]
    assert answer.json()["error_code"] == "timeout"


def test_a_stream_that_stands_still_ends_in_an_error(serve):
    gateway, _ = serve(endless)

    with gateway.connect() as client:
        client.sendall(request_bytes(STREAM))
        read_until(client, b"data: ")
        gateway.advance(300)
        assert len(gateway.inner.exchanges) == 1
        gateway.advance(1)
        answer = read_until(client, b"0\r\n\r\n")

    assert b"event: error" in answer
    assert b"The answer stood still for 300 s." in answer


def test_a_stream_that_never_stands_still_has_an_end_all_the_same(house, serve):
    def script(call: Call) -> None:
        call.begin_stream()
        for _ in range(13):
            assert go_on.acquire(timeout=DEADLINE_SECONDS)
            call.event(piece("word"))
        call.wait_for_hang_up()

    go_on = threading.Semaphore(0)
    gateway, _ = serve(script)
    with gateway.connect() as client:
        client.sendall(request_bytes(STREAM))
        for _ in range(13):
            go_on.release()
            read_until(client, b"word")
            gateway.advance(299)
        answer = read_until(client, b"0\r\n\r\n")

    assert b"The request ran for 3600 s, the longest allowed." in answer


@pytest.mark.parametrize(
    ("sent", "seconds", "words"),
    [
        ("", 30, b"The request's head did not arrive within 30 s."),
        (
            "content-length: 9\r\n\r\nhalf",
            60,
            b"Less than 4096 bytes of the request's body arrived",
        ),
    ],
)
def test_a_request_that_comes_too_slowly_is_408(serve, sent, seconds, words):
    gateway, _ = serve(answers)

    with gateway.connect() as client:
        client.sendall((HEAD + sent).encode())
        _wait_until_begun(gateway)
        gateway.advance(seconds)
        assert gateway.inner.clients
        gateway.advance(1)
        status, headers, body = read_answer(client)

    assert (status, headers["connection"]) == (408, "close")
    assert words in body


def test_a_connection_that_asks_nothing_is_closed_after_a_while(serve):
    gateway, _ = serve(answers)

    with gateway.connect() as client:
        client.sendall(request_bytes())
        read_answer(client)
        gateway.advance(75)
        assert gateway.inner.clients
        gateway.advance(1)
        assert client.recv(1) == b""


def test_a_client_that_was_refused_in_the_middle_is_heard_out_for_a_moment(serve):
    gateway, _ = serve(answers)

    with gateway.connect() as client:
        client.sendall(f"{HEAD}content-length: 100000001\r\n\r\n".encode())
        assert read_until_closed(client).startswith(b"HTTP/1.1 413 ")
        client.sendall(b"still on its way")
        gateway.advance(LINGER_SECONDS)
        assert gateway.inner.clients
        gateway.advance(1)
        wait_for(lambda: not gateway.inner.clients, what="the end of the connection")


def _wait_until_begun(gateway: GatewayThread) -> None:
    wait_for(
        lambda: any(not each._reader.is_between_requests for each in gateway.clients),
        what="the beginning of a request",
    )


def _send(client, data: bytes, times: int) -> None:
    try:
        for _ in range(times):
            client.sendall(data)
    except OSError:
        return
