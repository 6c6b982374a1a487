"""What goes over the wire when a request is wrong, too long, abandoned or one too many."""

import json
import select
import socket
from functools import reduce
from typing import Any

import pytest

from tests.gates import Gates
from tests.waiting import wait_for
from tests.workers.runtimes.native.server import EngineServer, Steps

pytestmark = [pytest.mark.process, pytest.mark.engine]

CHAT = "/v1/chat/completions"
MESSAGES = [{"role": "user", "content": "Hello"}]
SCHEMA = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "nonsense"}}}
ENDLESS = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"$ref": "#"}}}
DEEP: Any = reduce(lambda inner, _: {"items": inner}, range(600), {})


@pytest.mark.parametrize(
    ("field", "body"),
    [
        ("n", {"n": 0}),
        ("n", {"n": 129}),
        ("logprobs", {"logprobs": 3}),
        ("top_logprobs", {"top_logprobs": 3}),
        ("top_logprobs", {"logprobs": True, "top_logprobs": 21}),
        ("frequency_penalty", {"frequency_penalty": 2.5}),
        ("repetition_penalty", {"repetition_penalty": 0}),
        ("min_p", {"min_p": 1.5}),
        ("logit_bias", {"logit_bias": {"5000": 1}}),
        ("logit_bias.5", {"logit_bias": {"5": 101}}),
        ("functions", {"functions": [{"name": "f"}]}),
        ("min_tokens", {"min_tokens": 3, "guided_regex": "a"}),
        ("guided_regex", {"guided_regex": "("}),
        ("guided_choice", {"guided_choice": []}),
        ("guided_grammar", {"guided_grammar": "start: missing"}),
        ("guided_json", {"guided_json": "{"}),
        ("guided_json", {"guided_json": "[" * 100_000}),
        ("guided_json", {"guided_json": DEEP}),
        ("messages", {"chat_template_kwargs": {"deep": DEEP}}),
        ("guided_choice", {"guided_choice": ["a"], "guided_regex": "a"}),
        ("response_format", {"guided_choice": ["a"], "response_format": {"type": "json_object"}}),
        ("structured_outputs.tag", {"structured_outputs": {"tag": 1}}),
        ("chat_template", {"chat_template": "{{ 1 }}"}),
        ("temperature", {"temperature": 3}),
        ("temperature", {"temperature": "warm"}),
        ("top_p", {"top_p": -0.1}),
        ("max_tokens", {"max_tokens": 0}),
        ("stream_options", {"stream_options": {"include_usage": True}}),
        ("prompt_logprobs", {"prompt_logprobs": 1, "stream": True}),
        ("seed", {"seed": 2**70}),
        ("stop", {"stop": ["", "x"]}),
        ("stop", {"stop": 7}),
        ("messages", {"messages": []}),
        ("messages", {"messages": None}),
        ("messages.0.role", {"messages": [{"content": "x"}]}),
        ("messages.0.content", {"messages": [{"role": "user", "content": [{"type": "image"}]}]}),
        ("response_format.type", {"response_format": {"type": "regex"}}),
        ("response_format.json_schema", {"response_format": {"type": "json_schema"}}),
        ("response_format.json_schema.schema", {"response_format": SCHEMA}),
        ("response_format.json_schema.schema", {"response_format": ENDLESS}),
    ],
)
def test_a_field_that_cannot_be_honoured_is_named(
    server: EngineServer, field: str, body: dict[str, Any]
) -> None:
    answer = server.post(CHAT, **{"messages": MESSAGES, **body})
    error = answer.json()["error"]
    assert (answer.status_code, error["param"]) == (400, field)
    assert error["type"] == "invalid_request_error"
    assert field.rpartition(".")[2] in error["message"]


def test_values_that_ask_for_nothing_pass(server: EngineServer) -> None:
    answer = server.post(
        CHAT, messages=[{"role": "user", "content": [{"type": "text", "text": "Hello"}]}],
        max_completion_tokens=1, n=1, logprobs=False, top_logprobs=None, presence_penalty=0.0,
        frequency_penalty=0, logit_bias={}, tools=[], tool_choice="auto", stop=None, top_k=-1,
        parallel_tool_calls=True, user="me", metadata={"a": 1}, store=False, stream=None,
    )  # fmt: skip
    assert answer.status_code == 200, answer.text
    assert answer.json()["usage"]["completion_tokens"] == 1


@pytest.mark.parametrize("more", [[], [{"type": "text"}, {"type": "text", "text": None}]])
def test_a_part_without_a_text_adds_none(server: EngineServer, more: list[Any]) -> None:
    content = [{"type": "text", "text": "Hello"}, *more]
    requests = (MESSAGES, [{"role": "user", "content": content}])
    used = [server.post(CHAT, messages=one, max_tokens=1).json()["usage"] for one in requests]
    assert used[0]["prompt_tokens"] == used[1]["prompt_tokens"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"prompt": ["a", ""]}, "prompt"),
        ({"prompt": ["a"] * 129}, "prompt"),
        ({"prompt": "a", "logprobs": True}, "logprobs"),
        ({"prompt": ""}, "prompt"),
        ({"prompt": [5, 10_000]}, "prompt"),
        ({"prompt": [5, "a"]}, "prompt"),
        ({"prompt": "a", "max_tokens": 0}, "max_tokens"),
        ({"prompt": "a", "suffix": "b"}, "suffix"),
        ({"prompt": "a", "best_of": 3}, "best_of"),
    ],
)
def test_a_completion_that_cannot_be_made_is_refused(
    server: EngineServer, body: dict[str, Any], field: str
) -> None:
    answer = server.post("/v1/completions", **body)
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, field)


def test_a_prompt_past_the_limit_is_refused_with_numbers(server: EngineServer) -> None:
    answer = server.post("/v1/completions", prompt=[5] * 2100, max_tokens=1)
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (400, "context_length_exceeded")
    assert "2100 tokens" in error["message"]
    assert "2048 tokens" in error["message"]
    assert "by 53 or more" in error["message"]


def test_an_answer_ends_at_the_limit_of_the_sequence(server: EngineServer) -> None:
    answer = server.post("/v1/completions", prompt=[5] * 2040, max_tokens=50, ignore_eos=True)
    assert answer.json()["usage"]["completion_tokens"] == 8
    assert answer.json()["choices"][0]["finish_reason"] == "length"


@pytest.mark.parametrize(
    ("change", "param", "words"),
    [
        ({"temperature": 3}, "temperature", "less than or equal to 2; 3 was sent."),
        ({"tool_choice": "any"}, "tool_choice", """'required'; "any" was sent."""),
        ({"tool_choice": {"type": "function"}}, "tool_choice.function", "Field required."),
        (
            {"tool_choice": {"type": "allowed_tools"}},
            "tool_choice.allowed_tools",
            "Field required.",
        ),
        ({"stop_token_ids": 5}, "stop_token_ids", "should be a list; 5 was sent."),
        ({"logit_bias": {"a": 1}}, "logit_bias.a", """as an integer; "a" was sent."""),
        ({"use_beam_search": True}, "use_beam_search", "leave it out or send false."),
    ],
)
def test_a_refusal_names_the_place_and_what_stood_there(
    server: EngineServer, change: dict[str, Any], param: str, words: str
) -> None:
    ask = {"messages": [{"role": "user", "content": "Hi"}], **change}
    error = server.post(CHAT, **ask).json()["error"]
    assert error["param"] == param
    assert error["message"].startswith(f"`{param}`")
    assert error["message"].endswith(words)


def test_half_a_character_is_refused(server: EngineServer) -> None:
    answer = server.http.post("/v1/completions", content=rb'{"prompt": "\ud800"}')
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, "prompt")


def test_half_a_character_is_refused_where_only_the_answer_would_hold_it(
    server: EngineServer,
) -> None:
    answer = server.http.post(
        CHAT, content=rb'{"messages": [{"role": "user", "content": "a"}], "model": "\ud800"}'
    )
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, "model")


@pytest.mark.parametrize("content", [b"{", b"[]", b'"text"', b"", b"[" * 100_000])
def test_a_body_that_is_no_object_is_refused(server: EngineServer, content: bytes) -> None:
    answer = server.http.post(CHAT, content=content)
    assert answer.status_code == 400
    assert answer.json()["error"]["message"].startswith("The body is")


def test_unknown_paths_and_methods_have_the_same_shape(server: EngineServer) -> None:
    assert server.http.get("/v2").json()["error"]["message"] == (
        f"GET /v2: Not Found. This model answers at {CHAT}, /v1/completions."
    )
    assert server.http.get(CHAT).status_code == 405


@pytest.mark.parametrize("stream", [True, False])
def test_a_client_that_leaves_frees_its_row(
    server: EngineServer, gates: Gates, stream: bool
) -> None:
    made = server.metric("engine_completion_tokens_total")
    body = {"prompt": [5], "max_tokens": 2000, "ignore_eos": True, "stream": stream}
    content = json.dumps(body)
    length = f"Content-Length: {len(content)}"
    with Steps(gates) as steps:
        with socket.create_connection(("127.0.0.1", server.port)) as leaver:
            leaver.sendall(
                f"POST /v1/completions HTTP/1.1\r\nHost: x\r\n{length}\r\n\r\n{content}".encode()
            )
            steps.stand()
            steps.take()
            steps.stand()
            assert server.metric("engine_requests_running") == 1
            if stream:
                # A first token may be half of a character, and no text yet.
                wait_for(lambda: _has_come(leaver), what="a first piece", meanwhile=steps.take)
        wait_for(lambda: server.requests() == 0, what="its row to be free", meanwhile=steps.take)
    assert server.metric("engine_completion_tokens_total") < made + 2000
    assert server.metric("engine_kv_cache_used_ratio") == 0


def test_health_info_and_metrics(server: EngineServer) -> None:
    assert server.http.get("/health").json() == {"status": "ready"}
    info = server.http.get("/info").json()
    assert info["dtype"] == "float32"
    assert info["kv_tokens"] * 256 * 2 == info["kv_cache_bytes"]
    assert info["max_seq_len"] == 2048
    assert info["versions"].keys() >= {"torch", "transformers", "llguidance"}
    for name in (
        "engine_requests_waiting",
        "engine_prompt_tokens_total",
        "engine_completion_tokens_total",
        "engine_time_to_first_token_seconds_count",
        "engine_inter_token_seconds_count",
        "engine_end_to_end_seconds_count",
    ):
        assert server.metric(name) >= 0


def _has_come(connection: socket.socket) -> bool:
    return bool(select.select([connection], [], [], 0)[0])
