"""Whole answers: what reaches the engine, what comes back, in every framing."""

import json

import pytest

from tests.workers.gateway.stage.connections import read_answer, read_until_closed, request_bytes
from tests.workers.gateway.stage.engine import Call
from tests.workers.gateway.stage.routes import CHAT, KEY
from tests.workers.gateway.stage.scripts import USAGE, answers

BASE = "/m/modelaaa/environments/production"


def test_an_answer_comes_back_whole_and_is_metered(house, serve, http):
    def slow(call: Call) -> None:
        house.clock.advance(0.25)
        answers(call)

    gateway, engine = serve(slow)

    answer = http.post(gateway.url + CHAT, json={"model": "anything", "messages": []})

    assert answer.json()["choices"][0]["message"]["content"] == "hi"
    assert engine.calls[0].path == "/v1/chat/completions"
    record = house.record_of(answer)
    assert (record["prompt_tokens"], record["completion_tokens"]) == (7, 3)
    assert record["request_id"] == answer.headers["x-baseten-request-id"]
    expected = {
        "state": "closed", "model_id": "modelaaa", "deployment_id": "deploy01",
        "environment": "production", "replica_id": "rep00", "key_id": "keyaaaaa",
        "route": "/v1/chat/completions", "status": 200, "stream": False,
    }  # fmt: skip
    assert record.items() >= expected.items()
    assert record["request_bytes"] == len(answer.request.content)
    assert (record["first_byte_seconds"], record["duration_seconds"]) == (0.25, 0.25)
    assert record["at"] == house.clock.time()


@pytest.mark.parametrize(
    ("asked", "sent"), [("anything", "served"), (None, "served"), ("polite", "polite")]
)
def test_any_model_name_is_served_and_an_adapters_name_passes(serve, http, asked, sent):
    gateway, engine = serve(answers)

    http.post(gateway.url + CHAT, json={"messages": []} | ({"model": asked} if asked else {}))

    assert engine.calls[0].json()["model"] == sent


def test_scores_without_usage_are_metered_by_the_engines_header(house, serve, http):
    def score(call: Call) -> None:
        call.answer(b'[{"index":0,"score":0.5}]', extra="x-compute-tokens: 17\r\n")

    gateway, _ = serve(score)

    answer = http.post(f"{gateway.url}{BASE}/sync/rerank", json={"query": "a", "texts": ["b"]})

    assert answer.json() == [{"index": 0, "score": 0.5}]
    record = house.record_of(answer)
    assert (record["prompt_tokens"], record["completion_tokens"]) == (17, 0)
    assert record["route"] == "/rerank"


def test_what_an_engine_counts_in_its_head_is_not_looked_for_in_its_answer(house, serve, http):
    def embed(call: Call) -> None:
        call.answer(b'{"data":[],"usage":{"prompt_tokens":9}}', extra="x-compute-tokens: 17\r\n")

    gateway, _ = serve(embed)

    answer = http.post(f"{gateway.url}{BASE}/sync/v1/embeddings", json={"input": "a"})

    assert house.record_of(answer)["prompt_tokens"] == 17


@pytest.mark.parametrize(
    "behind",
    [
        {"prompt_token_ids": list(range(60_000))},
        {"prompt_logprobs": [{"5": {"logprob": -0.5, "decoded_token": '"}'}}] * 5_000},
        {"user": "x" * 400_000},
        {"user": "usage"},
    ],
    ids=["token ids", "logprobs", "user", "the word"],
)
@pytest.mark.parametrize("chunked", [False, True])
def test_usage_is_metered_whatever_stands_behind_it(house, serve, http, behind, chunked):
    content = json.dumps({"choices": [], "usage": USAGE} | behind).encode()

    def answer_with_more(call: Call) -> None:
        if not chunked:
            call.answer(content)
            return
        call.send(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
        for start in range(0, len(content), 5_000):
            call.chunk(content[start : start + 5_000])
        call.send(b"0\r\n\r\n")

    gateway, _ = serve(answer_with_more)

    answer = http.post(gateway.url + CHAT, json={"messages": [], "return_token_ids": True})

    assert answer.content == content
    record = house.record_of(answer)
    assert (record["prompt_tokens"], record["completion_tokens"]) == (7, 3)


def test_predict_goes_to_the_deployments_own_route(serve, http):
    gateway, engine = serve(answers)

    assert http.post(f"{gateway.url}{BASE}/predict", json={"messages": []}).status_code == 200
    assert engine.calls[0].path == "/v1/chat/completions"


def test_predict_refuses_other_methods_and_says_which_it_takes(serve, http):
    gateway, _ = serve(answers)

    answer = http.get(f"{gateway.url}{BASE}/predict")

    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


@pytest.mark.parametrize("target", ["environments/production", "production", "deployment/deploy01"])
def test_every_target_reaches_the_route_and_the_query_as_it_was_written(serve, http, target):
    gateway, engine = serve(answers)

    http.get(f"{gateway.url}/m/modelaaa/{target}/sync/v1/models?x=1&y=%2F")

    assert engine.calls[0].method == "GET"
    assert engine.calls[0].path == "/v1/models?x=1&y=%2F"


def test_a_body_that_needs_no_change_is_not_touched(serve, http):
    gateway, engine = serve(answers)
    body = b'{ "model" : "served", "input":[], "seed": 1e400 }'

    http.post(f"{gateway.url}{BASE}/sync/v1/embeddings", content=body)
    http.post(gateway.url + CHAT, content=body)

    assert engine.calls[0].body == body
    assert engine.calls[1].body == b'{"cache_salt":"keyaaaaa",' + body[1:]


def test_a_body_that_is_no_json_is_left_to_the_engine_on_a_route_of_its_own(serve, http):
    gateway, engine = serve(lambda call: call.answer(b"\x00\xff"))

    answer = http.post(f"{gateway.url}{BASE}/sync/echo", content=b"\xff\x00 raw")

    assert engine.calls[0].body == b"\xff\x00 raw"
    assert answer.content == b"\x00\xff"


def test_a_chunked_request_arrives_with_a_length(serve, http):
    gateway, engine = serve(answers)

    http.post(gateway.url + CHAT, content=iter([b'{"messages":', b'[],"model":"served"}']))

    assert engine.calls[0].json().items() >= {"messages": [], "model": "served"}.items()
    assert "transfer-encoding" not in engine.calls[0].headers


def test_an_answer_to_head_has_no_body_and_the_next_request_works(serve, http):
    def script(call: Call) -> None:
        if call.method == "HEAD":
            call.send(b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n")
        else:
            answers(call)

    gateway, _ = serve(script)
    url = f"{gateway.url}{BASE}/sync/health"

    assert http.head(url).headers["content-length"] == "99"
    assert http.get(url).json()["id"] == "1"


def test_an_answer_without_content_stays_without(serve, http):
    gateway, _ = serve(lambda call: call.send(b"HTTP/1.1 204 No Content\r\n\r\n"))

    answer = http.post(f"{gateway.url}{BASE}/sync/reset", content=b"")

    assert (answer.status_code, answer.content) == (204, b"")


def test_an_answer_that_ends_with_the_connection_is_whole(house, serve, http):
    def script(call: Call) -> None:
        call.send(b'HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{"usage":{"prompt_tokens":4}}')
        call.connection.close()

    gateway, _ = serve(script)

    answer = http.post(gateway.url + CHAT, json={})

    assert answer.json() == {"usage": {"prompt_tokens": 4}}
    assert house.record_of(answer)["prompt_tokens"] == 4


def test_an_informational_answer_is_not_taken_for_the_answer(serve, http):
    def script(call: Call) -> None:
        call.send(b"HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n")
        answers(call)

    gateway, _ = serve(script)

    assert http.post(gateway.url + CHAT, json={}).json()["id"] == "1"


def test_http_1_0_gets_a_plain_body_and_a_closed_connection(serve):
    def script(call: Call) -> None:
        call.begin_stream()
        call.chunk(b"data: 1\n\n")
        call.end_stream()

    gateway, _ = serve(script)
    head = f"POST {CHAT} HTTP/1.0\r\nauthorization: Api-Key {KEY}\r\ncontent-length: 2\r\n\r\n{{}}"

    with gateway.connect() as client:
        client.sendall(head.encode())
        answer = read_until_closed(client)

    assert answer.endswith(b"\r\n\r\ndata: 1\n\ndata: [DONE]\n\n")
    assert b"transfer-encoding" not in answer


def test_a_large_answer_passes_unharmed(serve, http):
    content = bytes(range(256)) * 40_000
    gateway, _ = serve(lambda call: call.answer(content))

    assert http.get(f"{gateway.url}{BASE}/sync/file").content == content


def test_expect_100_continue_is_answered_before_the_body_is_sent(serve):
    gateway, _ = serve(answers)

    with gateway.connect() as client:
        whole = request_bytes(b"{}", extra="expect: 100-continue\r\n")
        client.sendall(whole[:-2])
        assert client.recv(1024) == b"HTTP/1.1 100 Continue\r\n\r\n"
        client.sendall(whole[-2:])
        assert read_answer(client)[0] == 200
