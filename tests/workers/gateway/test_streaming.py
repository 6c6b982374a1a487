"""Streams: nothing is held back, usage is metered, and a break is said aloud."""

import json
import threading
from typing import TYPE_CHECKING

import pytest

from tests.waiting import DEADLINE_SECONDS
from tests.workers.gateway.stage.connections import (
    NO_AUTHORITIES,
    read_answer,
    read_until,
    read_until_closed,
    request_bytes,
    request_id,
)
from tests.workers.gateway.stage.engine import Call
from tests.workers.gateway.stage.routes import CHAT, KEY
from tests.workers.gateway.stage.scripts import USAGE, endless, piece, streams

if TYPE_CHECKING:
    import openai  # where it is needed, since it takes a second

BASE = CHAT.removesuffix("/chat/completions")
PREDICT = "/m/modelaaa/environments/production/predict"
STREAM = b'{"model":"m","messages":[],"stream":true}'


@pytest.fixture
def client(house, serve):
    import openai

    serve(streams)
    url = house.gateways[0].url + BASE
    http = openai.DefaultHttpxClient(verify=NO_AUTHORITIES)
    with openai.OpenAI(base_url=url, api_key=KEY, max_retries=0, http_client=http) as client:
        yield client


def ask(client: "openai.OpenAI", **more):
    messages = [{"role": "user", "content": "count"}]
    return client.chat.completions.create(model="any", messages=messages, stream=True, **more)


def test_the_openai_client_reads_a_stream_and_sees_no_usage_it_did_not_ask_for(
    house, serve, client
):
    _, engine = serve(streams)

    with ask(client) as stream:
        id = stream.response.headers["x-request-id"]
        chunks = list(stream)

    assert [chunk.choices[0].delta.content for chunk in chunks] == ["one", "two", "three"]
    assert all(chunk.usage is None for chunk in chunks)
    assert engine.calls[0].json()["stream_options"] == {"include_usage": True}
    record = house.closed_record(id)
    assert (record["prompt_tokens"], record["completion_tokens"]) == (7, 3)
    assert record["stream"] is True


def test_usage_is_shown_to_a_client_that_asked(serve, client):
    serve(streams)

    with ask(client, stream_options={"include_usage": True}) as stream:
        assert [chunk.usage.total_tokens for chunk in stream if chunk.usage] == [10]


def test_usage_beside_text_is_taken_out_for_a_client_that_did_not_ask(serve, client):
    def script(call: Call) -> None:
        call.begin_stream()
        call.event(piece("last") | {"usage": USAGE})
        call.end_stream()

    serve(script)

    with ask(client) as stream:
        (chunk,) = list(stream)
    assert (chunk.choices[0].delta.content, chunk.usage) == ("last", None)


def test_each_event_is_forwarded_before_the_next_one_exists(serve, client):
    received = threading.Semaphore(0)

    def script(call: Call) -> None:
        call.begin_stream()
        for word in "abcde":
            call.event(piece(word))
            assert received.acquire(timeout=DEADLINE_SECONDS)
        call.end_stream()

    serve(script)

    with ask(client) as stream:
        for _ in stream:
            received.release()


def test_an_engine_that_writes_byte_by_byte_is_read_all_the_same(house, serve, client):
    def script(call: Call) -> None:
        call.begin_stream()
        events = b'data: {"choices":[{"index":0,"delta":{"content":"hi"}}]}\n\n'
        events += b'data: {"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3}}\r\n\r\n'
        for position in range(len(events)):
            call.chunk(events[position : position + 1])
        call.end_stream()

    serve(script)

    with ask(client) as stream:
        id = stream.response.headers["x-request-id"]
        assert [chunk.choices[0].delta.content for chunk in stream] == ["hi"]
    assert house.closed_record(id)["completion_tokens"] == 3


def test_nothing_between_may_buffer_a_stream(serve, client):
    serve(streams)

    with ask(client) as stream:
        headers = stream.response.headers
    assert headers["cache-control"] == "no-cache"
    assert headers["x-accel-buffering"] == "no"
    assert "content-length" not in headers
    assert "server" not in headers


@pytest.mark.parametrize("how", ["reset", "clean end without [DONE]"])
def test_an_engine_that_breaks_off_ends_in_an_error_and_never_in_done(house, serve, how):
    def script(call: Call) -> None:
        call.begin_stream()
        call.event(piece("half"))
        call.chunk(b'data: {"choi')
        if how == "reset":
            call.connection.close()
        else:
            call.send(b"0\r\n\r\n")

    gateway, _ = serve(script)

    with gateway.connect() as raw:
        raw.sendall(request_bytes(STREAM))
        answer = read_until(raw, b"\r\n0\r\n\r\n")
        # It ended as HTTP wants it, so a client may go on where it is.
        raw.sendall(request_bytes(b"", "/health", method="GET"))
        assert b"snapshot_version" in read_answer(raw)[2]

    assert b"half" in answer
    assert b"event: error\ndata: {" in answer
    assert b"engine_failed" in answer
    assert b"[DONE]" not in answer
    assert house.closed_record(request_id(answer))["status"] == 502


def test_the_openai_client_raises_when_a_stream_breaks(serve, client):
    import openai

    def script(call: Call) -> None:
        call.begin_stream()
        call.event(piece("half"))
        call.connection.close()

    serve(script)

    with pytest.raises(openai.APIError, match="stopped while it was answering"), ask(client) as s:
        list(s)


def test_a_whole_answer_that_breaks_is_cut_so_that_nobody_takes_it_for_whole(serve):
    def script(call: Call) -> None:
        call.send(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf")
        call.connection.close()

    gateway, engine = serve(script)

    with gateway.connect() as raw:
        raw.sendall(request_bytes())
        answer = read_until_closed(raw)

    assert answer.endswith(b"half")
    assert len(engine.calls) == 1


def test_what_runs_is_written_down_as_long_as_it_does(serve):
    gateway, _ = serve(endless)

    with gateway.connect() as raw:
        raw.sendall(request_bytes(STREAM))
        read_until(raw, b"data: ")
        reports = []
        for seconds in (1.0, 0.5, 2.0):
            gateway.advance(seconds)
            (record,) = gateway.records().values()
            reports.append((record["state"], record["duration_seconds"]))

    assert reports == [("open", 0.0), ("running", 1.5), ("running", 3.5)]


def test_predict_streams_events_where_it_is_asked_to_and_is_metered(serve, http, house):
    gateway, _ = serve(streams)
    with http.stream("POST", gateway.url + PREDICT, json={"stream": True}) as answer:
        lines = [line for line in answer.iter_lines() if line]
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert [json.loads(each[6:])["choices"][0]["delta"]["content"] for each in lines[:-1]] == [
        "one", "two", "three",
    ]  # fmt: skip
    assert lines[-1] == "data: [DONE]"
    record = house.record_of(answer)
    assert (record["stream"], record["prompt_tokens"], record["completion_tokens"]) == (True, 7, 3)


def test_predict_passes_chunks_of_any_type_on_as_they_come(serve, http):
    goes_on = threading.Event()

    def in_two(call):
        call.send(
            b"HTTP/1.1 200 OK\r\ncontent-type: application/octet-stream\r\n"
            b"transfer-encoding: chunked\r\n\r\n"
        )
        call.chunk(b"first")
        goes_on.wait(DEADLINE_SECONDS)
        call.chunk(b"second")
        call.send(b"0\r\n\r\n")

    gateway, _ = serve(in_two)
    with http.stream("POST", gateway.url + PREDICT, json={}) as answer:
        pieces = answer.iter_raw()
        assert next(pieces) == b"first"
        goes_on.set()
        assert b"".join(pieces) == b"second"
    assert answer.headers["content-type"] == "application/octet-stream"
