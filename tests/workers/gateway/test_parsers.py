"""Parsers give the same result wherever the bytes are cut, and tricky paths get nowhere."""

from contextlib import suppress
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from workers.gateway import event_stream
from workers.gateway.event_stream import LONGEST_EVENT_BYTES, EndlessEvent, EventFilter
from workers.gateway.nudge import client_url
from workers.gateway.refusals import Refused
from workers.gateway.request import Request
from workers.gateway.request_reader import RequestReader
from workers.gateway.routing import Action, Place, parse_target
from workers.gateway.settings import Bounds
from workers.gateway.snapshot_reading import UnreadableSnapshot, read
from workers.gateway.usage import TokenCounts
from workers.gateway.usage_search import EVENT, UsageSearch, find_usage

EVENTS = (
    b': comment\n\ndata: {"choices":[{"delta":{"content":"say \\"usage\\": [DONE]"}}]}\n\n'
    b'data: {"choices":[{"delta":{"content":"b"}}]} \r\n\r\nevent: x\ndata: 1\ndata: 2\n\n'
)
USAGE_EVENT = b'data: {"id":"x","choices":[],"usage":{"prompt_tokens":5,"completion_tokens":8}}\n\n'
DONE = b"data: [DONE]\n\n"


def cut(data: bytes, places: list[int]) -> list[bytes]:
    borders = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[start:end] for start, end in pairwise(borders)]


@given(st.lists(st.integers(0, 10_000), max_size=40), st.booleans())
def test_a_stream_is_the_same_wherever_it_is_cut(places, hides):
    events = EventFilter(hides_usage=hides)
    whole = EVENTS + USAGE_EVENT + DONE

    out = b"".join(events.feed(piece) for piece in cut(whole, places)) + events.finish()

    assert out == (EVENTS + DONE if hides else whole)
    assert events.counts == TokenCounts(5, 8)
    assert events.done


def test_an_event_in_the_making_is_held_and_a_whole_one_is_not():
    events = EventFilter(hides_usage=True)

    assert events.feed(b"data: 1\n\ndata: 2") == b"data: 1\n\n"
    assert events.feed(b"\n\n") == b"data: 2\n\n"
    assert events.feed(DONE) == DONE


def test_text_that_looks_like_the_end_is_not_the_end():
    events = EventFilter(hides_usage=False)
    events.feed(b'data: {"choices":[{"delta":{"content":"data: [DONE]"}}]}\n\n')

    assert not events.done


def test_an_event_without_end_is_given_up_and_no_byte_of_it_is_searched_twice(monkeypatch):
    searched = []

    class Boundary:
        def finditer(self, data, start):
            searched.append(len(data) - start)
            return iter(())

    monkeypatch.setattr(event_stream, "_BOUNDARY", Boundary())
    events = EventFilter(hides_usage=True)
    for _ in range(LONGEST_EVENT_BYTES // 65536):
        assert events.feed(b"x" * 65536) == b""
    with pytest.raises(EndlessEvent):
        events.feed(b"x")

    assert sum(searched) < LONGEST_EVENT_BYTES * 1.01
    assert events.finish() == b""


class Sink:
    """Takes what a reader makes of bytes."""

    is_draining = False

    def __init__(self, *, body_bytes: int = 1000) -> None:
        self.bounds = Bounds(body_bytes=body_bytes)
        self.complete: list[Request] = []
        self.refused: list[int] = []
        self.continues = 0

    def admit(self, request): ...

    def release(self, request): ...

    def reserve(self, request): ...

    def request_is_complete(self, request):
        self.complete.append(request)

    def head_is_refused(self, request, refusal):
        self.refused.append(refusal.status)

    def may_send_body(self):
        self.continues += 1


REQUESTS = (
    b"POST /m/a/production/predict?q=1 HTTP/1.1\r\nHost: g\r\nX-Kept: Yes\r\n"
    b"Content-Length: 5\r\n\r\nhello"
    b"POST /chunks HTTP/1.1\r\nHost: g\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
    b"POST /up HTTP/1.1\r\nHost: g\r\n"
    b"Connection: upgrade\r\nUpgrade: h2c\r\nContent-Length: 2\r\n\r\nok"
)


@given(st.lists(st.integers(0, 10_000), max_size=60))
@examples(200)
def test_requests_are_the_same_wherever_their_bytes_are_cut(places):
    sink = Sink()
    reader = RequestReader(sink, sink)

    for piece in cut(REQUESTS, places):
        reader.feed(piece)

    assert reader.broken is None
    assert [(r.path, r.query, b"".join(r.body)) for r in sink.complete] == [
        ("/m/a/production/predict", b"q=1", b"hello"),
        ("/chunks", b"", b"abcde"),
        ("/up", b"", b"ok"),
    ]
    assert (b"x-kept", b"Yes") in sink.complete[0].headers


@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_refused_and_never_raise(data):
    sink = Sink()
    reader = RequestReader(sink, sink)
    reader.feed(data)
    reader.feed(b"GET / HTTP/1.1\r\n\r\n")


@pytest.mark.parametrize("version", ["1.0", "1.1"])
@pytest.mark.parametrize("left", [1, 30, 70])
def test_a_read_may_end_within_the_head_behind_a_long_body(version, left):
    sink = Sink(body_bytes=10**6)
    reader = RequestReader(sink, sink)
    head = f"POST /m/a/sync/echo HTTP/{version}\r\nhost: g\r\n"
    request = f"{head}connection: keep-alive\r\ncontent-length: 200000\r\n\r\n".encode()
    whole = request + b"x" * 200_000

    reader.feed(whole + request[:left])
    reader.feed(whole[left:])

    assert reader.broken is None
    assert [each.body_bytes for each in sink.complete] == [200_000] * 2
    assert sink.refused == []


def test_a_head_without_end_behind_a_body_is_refused_by_its_own_length():
    sink = Sink()
    reader = RequestReader(sink, sink)
    reader.feed(
        b"POST /a HTTP/1.1\r\nhost: g\r\ncontent-length: 5\r\n\r\nhelloGET /b HTTP/1.1\r\nx: "
    )
    for _ in range(sink.bounds.head_bytes // 1024 - 1):
        reader.feed(b"y" * 1024)

    assert reader.broken is None
    reader.feed(b"y" * 2048)
    assert reader.broken.status == 431


def test_a_tunnel_is_refused_and_no_mistake_of_ours():
    sink = Sink()
    reader = RequestReader(sink, sink)
    reader.feed(b"CONNECT gateway:443 HTTP/1.1\r\n\r\n")
    assert reader.slip is None
    assert reader.broken.status == 400
    assert "`CONNECT` asks for a tunnel" in reader.broken.message


@pytest.mark.parametrize(
    ("path", "place", "name", "route"),
    [
        ("/m/abc/environments/staging/sync/v1/models", Place.ENVIRONMENT, "staging", "/v1/models"),
        ("/m/abc/production/sync/rerank", Place.ENVIRONMENT, "production", "/rerank"),
        ("/m/abc/deployment/dep1/sync/a/b/", Place.DEPLOYMENT, "dep1", "/a/b/"),
        ("/m/sync/production/sync/sync/x", Place.ENVIRONMENT, "production", "/sync/x"),
        ("/m/abc/development/sync/x", Place.DEVELOPMENT, "development", "/x"),
    ],
)
def test_a_path_names_a_target_and_a_route(path, place, name, route):
    target = parse_target(path)

    assert (target.place, target.name, target.route) == (place, name, route)
    assert target.action is Action.SYNC


@pytest.mark.parametrize(
    "route",
    ["../admin", "a/../../b", "%2e%2e/x", "a%2fb", "//x", "./x", "a%5c..%5cb", "%252e%252e/x",
     "x%0d%0aHost:%20y", "x%00"],
)  # fmt: skip
def test_a_path_that_an_engine_could_read_otherwise_is_refused(route):
    with pytest.raises(Refused) as refused:
        parse_target(f"/m/abc/production/sync/{route}")
    assert refused.value.refusal.status == 400


@given(st.text(max_size=80))
def test_any_path_is_a_target_or_a_refusal(path):
    with suppress(Refused):
        assert parse_target(path).model_id


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        (b'{"usage": {"prompt_tokens": 3, "completion_tokens": 4}}', TokenCounts(3, 4)),
        (b'{"usage":{"completion_tokens":4,"prompt_tokens_details":{"cached_tokens":1},'
         b'"prompt_tokens":3}}', TokenCounts(3, 4, 1)),
        (b'{"usage":{"prompt_tokens":3,"total_tokens":3}}', TokenCounts(3, 0)),
        (b'{"usage":{"input_tokens":3,"output_tokens":9}}', TokenCounts(3, 9)),
        (b'{"usage":null}', None),
        (b'{"content":"\\"usage\\":{\\"prompt_tokens\\":3}"}', None),
        (b'{"usage":{"prompt_tokens":%b}}' % (b"7" * 5000), None),
        (b'{"usage":{"prompt_tokens":3,"completion_tokens":%b}}' % (b"7" * 16), TokenCounts(3, 0)),
        (b"", None),
    ],
)  # fmt: skip
def test_usage_is_found_without_parsing(text, counts):
    assert find_usage(text) == counts


FORGED = b'{"tools":[{"schema":{"usage":{"prompt_tokens":9}}}],'
SEARCHED = (
    (FORGED + b'"usage":{"prompt_tokens":3,"completion_tokens":4}}', TokenCounts(3, 4)),
    (b'{"usage" : {"prompt_tokens":3},"user":"usage"}', TokenCounts(3, 0)),
    (b'{"usage":{"prompt_tokens":3},' + FORGED[1:-1] + b"}", TokenCounts(3, 0)),
    (b'{"a":"\\\\","usage":{"prompt_tokens":3},"user":"\\"usage\\":{"}', TokenCounts(3, 0)),
    (b'{"usage":{"prompt_tokens":1},"a":"}]\\"","usage":{"prompt_tokens":2}}', TokenCounts(2, 0)),
    (b'{"usage":{"input_tokens":1,"x":{"y":[{}]},"output_tokens":2}}', TokenCounts(1, 2)),
    (FORGED + b'"usage":null}', None),
    (b'{"usage":{"note":"' + b"x" * 5000 + b'"},"usage":{"prompt_tokens":2}}', TokenCounts(2, 0)),
)


@given(st.sampled_from(SEARCHED), st.lists(st.integers(0, 10_000), max_size=60))
def test_usage_is_the_last_of_the_answers_own_wherever_it_is_cut(text_and_counts, places):
    text, counts = text_and_counts
    search = UsageSearch()
    for piece in cut(text, places):
        search.feed(piece)
    assert search.counts == find_usage(text) == counts


@pytest.mark.parametrize(("text", "counts"), SEARCHED)
def test_usage_is_found_byte_by_byte(text, counts):
    search = UsageSearch()
    for place in range(len(text)):
        search.feed(text[place : place + 1])
    assert search.counts == counts


@pytest.mark.parametrize(
    "filler",
    [b"1, ", b'"usage":{', b'\\"', b"\\\\", b'"', b"[", b'"usage"   ', b'"usage":{"a":"', b" "],
)
def test_a_search_keeps_little_of_whatever_it_is_fed(filler):
    search = UsageSearch()
    search.feed(b'{"a":[')
    for _ in range(100):
        search.feed(filler * 1000)
        assert len(search._rest) < 4096


def test_an_event_that_repeats_the_request_is_metered_by_its_own_usage():
    event = (
        b'data: {"type":"response.completed","response":' + FORGED + b'"usage":'
        b'{"input_tokens":3,"output_tokens":4},"user":"usage"}}\n\n'
    )
    events = EventFilter(hides_usage=False)
    assert events.feed(event) == event
    assert events.counts == TokenCounts(3, 4)
    assert find_usage(event, EVENT) == TokenCounts(3, 4)


@pytest.mark.parametrize(
    "payload",
    [b"", b"[]", b"{}", b'{"format":9}', b'{"format":1}', b"\xff", b"[" * 100_000,
     b'{"format":1,"version":Infinity}'],
)  # fmt: skip
def test_a_snapshot_that_is_none_is_refused(payload):
    with pytest.raises(UnreadableSnapshot):
        read(payload)


@pytest.mark.parametrize(
    ("broker", "client"),
    [
        ("redis://127.0.0.1:6379/0", "redis://127.0.0.1:6379/0"),
        ("redis+socket:///run/v.sock", "unix:///run/v.sock?db=0"),
        ("redis+socket:///run/v.sock?virtual_host=2", "unix:///run/v.sock?db=2"),
    ],
)
def test_celerys_broker_url_is_read_as_redis_py_reads_it(broker, client):
    assert client_url(broker) == client
