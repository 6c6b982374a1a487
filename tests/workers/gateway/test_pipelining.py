"""Many requests on one connection: in order, whole, and each on its own."""

import threading

from tests.waiting import DEADLINE_SECONDS, wait_for
from tests.workers.gateway.stage.connections import read_answer, request_bytes
from tests.workers.gateway.stage.engine import Call
from tests.workers.gateway.stage.scripts import answers
from workers.gateway.gateway import Gateway


def echoes(call: Call) -> None:
    call.answer(call.body)


def test_a_connection_is_kept_for_the_next_request(serve):
    gateway, engine = serve(answers)

    with gateway.connect() as client:
        for _ in range(5):
            client.sendall(request_bytes())
            assert read_answer(client)[0] == 200

    assert engine.connections == 1


def test_a_refusal_without_a_body_to_read_keeps_the_connection(serve):
    gateway, _ = serve(answers)

    with gateway.connect() as client:
        client.sendall(b"GET /nowhere HTTP/1.1\r\nhost: g\r\n\r\n" * 2)
        assert [read_answer(client)[0] for _ in range(2)] == [401, 401]
        client.sendall(request_bytes())
        assert read_answer(client)[0] == 200


def test_pipelined_requests_are_answered_in_order(serve):
    gateway, _ = serve(echoes)
    path = "/m/modelaaa/production/sync/echo"
    bodies = [b"%d" % number for number in range(50)]

    with gateway.connect() as client:
        client.sendall(b"".join(request_bytes(body, path) for body in bodies))
        assert [read_answer(client)[2] for _ in bodies] == bodies


def test_a_request_that_comes_early_waits_for_its_turn(serve):
    release = threading.Event()

    def script(call: Call) -> None:
        release.wait(DEADLINE_SECONDS)
        call.answer(call.body)

    gateway, engine = serve(script)
    path = "/m/modelaaa/production/sync/echo"

    with gateway.connect() as client:
        client.sendall(request_bytes(b"first", path))
        wait_for(lambda: engine.calls, what="the first request at the engine")
        early = request_bytes(b"second", path) + request_bytes(b"x", "/nowhere")
        client.sendall(early)
        (connection,) = gateway.clients
        wait_for(lambda: connection._backlog == early, what="what came early")
        assert len(engine.calls) == 1
        release.set()
        assert [read_answer(client)[::2] for _ in range(2)] == [(200, b"first"), (200, b"second")]
        assert read_answer(client)[0] == 404


def test_more_than_a_bounded_part_of_early_requests_still_arrives(serve):
    gateway, _ = serve(echoes)
    path = "/m/modelaaa/production/sync/echo"
    body = b"x" * 200_000
    requests = request_bytes(body, path) * 12

    with gateway.connect() as client:
        sender = threading.Thread(target=client.sendall, args=(requests,))
        sender.start()
        assert [len(read_answer(client)[2]) for _ in range(12)] == [200_000] * 12
        sender.join()


def test_a_request_that_arrives_byte_by_byte_is_read(serve):
    gateway, engine = serve(answers)

    with gateway.connect() as client:
        for byte in request_bytes(b'{"seed":3}'):
            client.sendall(bytes([byte]))
        assert read_answer(client)[0] == 200

    assert engine.calls[0].json()["seed"] == 3


def test_what_came_before_a_broken_request_is_answered_first(serve):
    gateway, _ = serve(answers)

    with gateway.connect() as client:
        client.sendall(request_bytes() + b"NONSENSE\r\n\r\n")
        assert read_answer(client)[0] == 200
        status, headers, _ = read_answer(client)
        assert (status, headers["connection"]) == (400, "close")


def test_the_last_request_of_a_closing_connection_is_answered(serve):
    gateway, _ = serve(answers)

    with gateway.connect() as client:
        client.sendall(request_bytes(extra="connection: close\r\n"))
        status, headers, _ = read_answer(client)
        assert (status, headers["connection"]) == (200, "close")
        assert client.recv(1) == b""


def test_a_client_that_takes_no_answers_gets_no_more_work_done(serve, monkeypatch):
    content, requests = b"x" * 1_000_000, 60
    gateway, engine = serve(lambda call: call.answer(content))
    untaken: list[int] = []
    begin = Gateway.begin

    def counting(self, client, request):
        untaken.append(client._transport.get_write_buffer_size())
        return begin(self, client, request)

    monkeypatch.setattr(Gateway, "begin", counting)
    with gateway.connect() as client:
        client.sendall(request_bytes() * requests)
        wait_for(lambda: any(each._is_full for each in gateway.clients), what="a full client")
        assert 0 < len(engine.calls) < requests / 2, "no system keeps so much for a socket"
        assert [len(read_answer(client)[2]) for _ in range(requests)] == [1_000_000] * requests
    assert len(untaken) == requests
    assert max(untaken) <= gateway.inner.bounds.write_buffer_bytes
