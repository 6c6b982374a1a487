"""Which headers cross, and which requests are refused because two readers could differ."""

import threading

import pytest

from tests.waiting import wait_for
from tests.workers.gateway.stage.connections import read_answer, read_until_closed, request_bytes
from tests.workers.gateway.stage.engine import Call
from tests.workers.gateway.stage.routes import CHAT, KEY
from tests.workers.gateway.stage.scripts import answers


def test_credentials_and_hop_by_hop_headers_do_not_reach_the_engine(serve, http):
    gateway, engine = serve(answers)
    dropped = {
        "cookie": "session=1", "x-forwarded-for": "1.1.1.1", "x-forwarded-anything": "1",
        "forwarded": "for=1.1.1.1", "te": "trailers", "proxy-authorization": "Basic x",
        "accept-encoding": "gzip", "connection": "keep-alive, x-mine", "x-mine": "1",
        "keep-alive": "timeout=5", "x-request-id": "theirs", "x-real-ip": "1.1.1.1",
        "x-data-parallel-rank": "3", "x_real_ip": "1.1.1.1", "x-http-method-override": "DELETE",
        "transfer_encoding": "chunked", "content_length": "0", "x-anything": "1",
        "traceparent": "of another form", "tracestate": "a=b", "origin": "http://other",
    }  # fmt: skip

    http.post(gateway.url + CHAT, json={}, headers=dropped | {"accept-language": "de"})

    sent = engine.calls[0].headers
    assert set(sent) == {
        "host", "accept-language", "content-type", "content-length", "accept", "user-agent",
        "x-request-id",
    }  # fmt: skip
    assert sent["host"] == f"127.0.0.1:{engine.port}"
    assert KEY not in engine.calls[0].head.decode()


def test_the_answer_names_the_request_and_not_the_engine(serve, http):
    def script(call: Call) -> None:
        hidden = "server: engine/1\r\nset-cookie: a=b\r\nconnection: x-hop\r\nx-hop: 1\r\n"
        call.answer({}, extra=hidden + "x-request-id: engines\r\nx-queue-time: 3\r\nx-other: 1\r\n")

    gateway, engine = serve(script)

    headers = http.post(gateway.url + CHAT, json={}).headers

    assert set(headers) == {
        "content-type", "content-length", "x-queue-time", "x-request-id", "x-baseten-request-id"
    }  # fmt: skip
    assert headers["x-request-id"] == engine.calls[0].headers["x-request-id"]
    assert len(headers["x-request-id"]) == 32


AMBIGUOUS = {
    "both lengths": "content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
    "both lengths, the other way round": (
        "transfer-encoding: chunked\r\ncontent-length: 2\r\n\r\n0\r\n\r\n"
    ),
    "two lengths": "content-length: 2\r\ncontent-length: 3\r\n\r\n{}",
    "an unknown coding": "transfer-encoding: gzip\r\n\r\n{}",
    "a coding below the chunks": "transfer-encoding: gzip, chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    "a coding in a line of its own": (
        "transfer-encoding: gzip\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"
    ),
    "chunks in chunks": "transfer-encoding: chunked, chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    "chunks twice": (
        "transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"
    ),
    "a folded header": "x: a\r\n b\r\ncontent-length: 2\r\n\r\n{}",
    "a space before the colon": "content-length : 2\r\n\r\n{}",
    "a length that is no number": "content-length: 0x2\r\n\r\n{}",
    "two hosts": "host: other\r\ncontent-length: 2\r\n\r\n{}",
    "two keys": "authorization: Bearer x\r\ncontent-length: 2\r\n\r\n{}",
    "two types": "content-type: a/b\r\ncontent-type: c/d\r\ncontent-length: 2\r\n\r\n{}",
    "a chunk size that overflows": "transfer-encoding: chunked\r\n\r\n10000000000000002\r\n{}",
    "a length that overflows": "content-length: 18446744073709551618\r\n\r\n{}",
}


@pytest.mark.parametrize("rest", AMBIGUOUS.values(), ids=AMBIGUOUS)
def test_a_request_that_two_readers_could_read_differently_is_refused(serve, rest):
    gateway, engine = serve(answers)

    with gateway.connect() as client:
        head = f"POST {CHAT} HTTP/1.1\r\nhost: g\r\nauthorization: Bearer {KEY}\r\n"
        client.sendall((head + rest).encode())
        answer = read_until_closed(client)

    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"connection: close" in answer
    assert engine.calls == []


def test_a_head_without_a_host_is_refused_but_for_http_10(serve):
    gateway, engine = serve(answers)
    rest = f"authorization: Bearer {KEY}\r\ncontent-length: 2\r\n\r\n{{}}"

    with gateway.connect() as client:
        client.sendall(f"POST {CHAT} HTTP/1.1\r\n{rest}".encode())
        refused = read_until_closed(client)
    with gateway.connect() as client:
        client.sendall(f"POST {CHAT} HTTP/1.0\r\n{rest}".encode())
        answer = read_until_closed(client)

    assert refused.startswith(b"HTTP/1.1 400 ")
    assert b"`Host`" in refused
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert len(engine.calls) == 1


def test_chunks_are_taken_however_their_coding_is_written(serve):
    gateway, engine = serve(answers)

    with gateway.connect() as client:
        head = f"POST {CHAT} HTTP/1.1\r\nhost: g\r\nauthorization: Bearer {KEY}\r\n"
        client.sendall(f"{head}Transfer-Encoding: CHUNKED \r\n\r\n2\r\n{{}}\r\n0\r\n\r\n".encode())
        assert read_answer(client)[0] == 200

    assert len(engine.calls) == 1


def test_an_offer_to_upgrade_is_ignored_and_the_body_still_read(serve):
    gateway, engine = serve(answers)
    offer = "connection: upgrade, http2-settings\r\nupgrade: h2c\r\nhttp2-settings: x\r\n"

    with gateway.connect() as client:
        client.sendall(request_bytes(b'{"seed":7}', extra=offer))
        assert read_answer(client)[0] == 200

    assert engine.calls[0].json()["seed"] == 7
    assert "upgrade" not in engine.calls[0].headers


VERSIONS = {
    "HTTP/2.0": 505, "HTTP/0.9": 505, "HTTP/1.2": 400, "HTTP/3.0": 400, "RTSP/1.0": 400,
    "ICE/1.0": 400,
}  # fmt: skip


@pytest.mark.parametrize(("version", "status"), VERSIONS.items())
@pytest.mark.parametrize("in_pieces", [False, True], ids=["at once", "in pieces"])
def test_another_protocols_version_is_refused_once(serve, version, status, in_pieces):
    gateway, engine = serve(answers)
    head = f"POST {CHAT} {version}\r\nhost: g\r\nauthorization: Bearer {KEY}\r\n".encode()

    with gateway.connect() as client:
        if in_pieces:
            client.sendall(head[:-30])
            wait_for(
                lambda: any(each._reader._head_bytes for each in gateway.clients),
                what="half a head",
            )
            client.sendall(head[-30:] + b"content-length: 0\r\n\r\n")
        else:
            client.sendall(head + b"content-length: 0\r\n\r\n")
        answer = read_until_closed(client)

    assert answer.startswith(b"HTTP/1.1 %d " % status)
    assert answer.count(b"HTTP/1.1 ") == 1
    assert engine.calls == []


def test_many_offers_to_upgrade_at_once_are_each_a_request(serve):
    gateway, engine = serve(answers)
    offer = "connection: upgrade\r\nupgrade: h2c\r\nexpect: 100-continue\r\n"
    requests = b"".join(request_bytes(b"{}", extra=offer) for _ in range(1500))

    with gateway.connect() as client:
        sender = threading.Thread(target=client.sendall, args=(requests,))
        sender.start()
        statuses = [read_answer(client)[0] for _ in range(3000)]
        sender.join()

    assert statuses.count(200) == 1500
    assert statuses.count(100) == 1500, "the body is asked for once for each"
    assert len(engine.calls) == 1500


def test_a_trace_in_its_proper_form_reaches_the_engine(serve, http):
    gateway, engine = serve(answers)
    trace = {"traceparent": f"00-{'a' * 32}-{'b' * 16}-01", "tracestate": "vendor=1"}

    http.post(gateway.url + CHAT, json={}, headers=trace)

    assert engine.calls[0].headers.items() >= trace.items()
