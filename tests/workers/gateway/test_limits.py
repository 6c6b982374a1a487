"""Bodies, heads, rates and times have bounds, and passing one is said in plain words."""

import threading
import time

import pytest

from tests.workers.gateway.stage.connections import read_answer, read_until_closed, request_bytes
from tests.workers.gateway.stage.engine import Call
from tests.workers.gateway.stage.routes import CHAT, KEY, digest, key_row, routes
from tests.workers.gateway.stage.scripts import answers, piece
from tests.workers.gateway.stage.waiting import until

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
    assert 1 <= int(replies[3].headers["retry-after"]) <= 20
    assert replies[3].json()["error"]["type"] == "rate_limit_error"


def test_a_key_may_run_so_many_requests_at_a_time(house, http):
    release = threading.Event()

    def slow(call: Call) -> None:
        release.wait(30)
        answers(call)

    engine = house.engine(slow)
    snapshot = routes(engine.port)
    limits = {"requests_per_minute": None, "parallel_requests": 1}
    snapshot["keys"][digest(KEY)] = key_row("keyaaaaa", limits=limits)
    house.publish_snapshot(snapshot)
    gateway = house.gateway()
    with gateway.connect() as first:
        first.sendall(request_bytes())
        until(lambda: engine.calls)
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
    assert int(second.headers["retry-after"]) > 60
    assert "1 tokens a minute" in second.json()["error"]["message"]


def test_a_key_that_has_spent_its_money_is_402_until_the_month_ends(house, http):
    engine = house.engine(answers)
    snapshot = routes(engine.port)
    limits = {"spent_until": time.time() + 3600}
    snapshot["keys"][digest(KEY)] = key_row("keyaaaaa", limits=limits)
    house.publish_snapshot(snapshot)
    gateway = house.gateway()

    answer = http.post(gateway.url + CHAT, json={})

    assert answer.status_code == 402
    assert 3500 < int(answer.headers["retry-after"]) <= 3600
    assert answer.json()["error"]["code"] == "insufficient_quota"
    assert engine.calls == []


def test_an_engine_that_does_not_begin_in_time_is_given_up(house, http):
    engine = house.engine(lambda call: call.wait_for_hang_up() and None)
    house.publish(engine)
    gateway = house.gateway("--first-byte-seconds=0.5")

    answer = http.post(gateway.url + CHAT, json={})

    assert answer.status_code == 504
    assert "did not begin to answer within 0.5 s" in answer.json()["error"]["message"]
    assert answer.json()["error_code"] == "timeout"


def test_a_stream_that_stands_still_ends_in_an_error(house, http):
    def script(call: Call) -> None:
        call.begin_stream()
        call.event(piece("one"))
        call.wait_for_hang_up()

    house.publish(house.engine(script))
    gateway = house.gateway("--idle-seconds=0.5")

    answer = http.post(gateway.url + CHAT, json={"stream": True})

    assert b"one" in answer.content
    assert b"event: error" in answer.content
    assert b"stood still" in answer.content


def _send(client, data: bytes, times: int) -> None:
    try:
        for _ in range(times):
            client.sendall(data)
    except OSError:
        return
