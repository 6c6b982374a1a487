"""Tools with the official client: forced calls, streams, refusals and reasoning."""

import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer

from tests.workers.runtimes.native.engine_here import EngineHere
from tests.workers.runtimes.native.server import EngineServer
from tests.workers.runtimes.native.tool_checkpoint import make_tool_checkpoint

pytestmark = pytest.mark.engine

CHAT = "/v1/chat/completions"
MESSAGES = [{"role": "user", "content": "What is the weather in Boston?"}]
WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Get current weather",
        "parameters": {
            "type": "object",
            "properties": {
                "unit": {"enum": ["celsius", "fahrenheit"]},
                "days": {"type": "integer", "minimum": 1, "maximum": 9},
            },
            "required": ["unit", "days"],
            "additionalProperties": False,
        },
    },
}
TIME = {"type": "function", "function": {"name": "get_time"}}
ASK: dict[str, Any] = {
    "model": "tiny", "messages": MESSAGES, "tools": [WEATHER, TIME], "max_tokens": 400,
    "temperature": 1.0, "seed": 3,
}  # fmt: skip


def _tool(name: str, parameters: dict[str, Any]) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


UNHELD = [
    {"type": "array", "uniqueItems": True},
    {"type": "string", "format": "iban"},
    {"not": {"type": "string"}},
    {"if": {"required": ["a"]}, "then": {"required": ["b"]}},
    {"oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
    {"propertyNames": {"pattern": "^[a-z]+$"}, "additionalProperties": {"type": "number"}},
    {"type": "string", "pattern": "^(?=a)"},
    {"type": "array", "contains": {"type": "number"}},
    {"dependentRequired": {"a": ["b"]}},
    {"type": "string", "pattern": "("},
]
"""Schemas of which no grammar holds everything; the last one is none."""


@pytest.fixture(scope="module")
def tool_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tool_checkpoint(tmp_path_factory.mktemp("tools") / "tiny")


@pytest.fixture(scope="module")
def tools(tool_folder: Path) -> Iterator[EngineHere]:
    with EngineHere(tool_folder) as server:
        yield server


@pytest.mark.parametrize("seed", range(2))
def test_a_forced_call_obeys_its_schema(tools: EngineServer, seed: int) -> None:
    choice = {"type": "function", "function": {"name": "get_weather"}}
    answer = tools.openai.chat.completions.create(**{**ASK, "seed": seed}, tool_choice=choice)
    message = answer.choices[0].message
    assert (answer.choices[0].finish_reason, message.content) == ("tool_calls", None)
    (call,) = message.tool_calls or []
    assert (call.type, call.function.name) == ("function", "get_weather")
    arguments = json.loads(call.function.arguments)
    assert arguments["unit"] in ("celsius", "fahrenheit")
    assert 1 <= arguments["days"] <= 9


def test_required_makes_one_call_or_several(tools: EngineServer) -> None:
    ask = {**ASK, "n": 4, "tool_choice": "required", "max_tokens": 120}
    several = tools.openai.chat.completions.create(**ask).choices
    single = tools.openai.chat.completions.create(
        **{**ask, "n": 2}, parallel_tool_calls=False
    ).choices
    counts = [len(choice.message.tool_calls or []) for choice in several]
    assert min(counts) >= 1
    assert max(counts) > 1, "with random weights some of four go on"
    assert {len(choice.message.tool_calls or []) for choice in single} == {1}
    ids = [call.id for choice in several for call in choice.message.tool_calls or []]
    assert len(set(ids)) == len(ids)


def test_all_tools_are_shown_and_only_the_allowed_ones_called(tools: EngineServer) -> None:
    def allowed(mode: str) -> dict[str, Any]:
        return {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": [TIME]}}

    ask = {**ASK, "n": 12, "parallel_tool_calls": False}
    required = tools.openai.chat.completions.create(
        **{**ask, "n": 2}, tool_choice=allowed("required")
    )
    auto = tools.openai.chat.completions.create(
        **ask, tool_choice=allowed("auto"), extra_body={"guided_regex": "[ab]"}
    )
    shown = tools.openai.chat.completions.create(**{**ASK, "max_tokens": 1})
    assert required.usage
    assert auto.usage
    assert shown.usage
    assert required.usage.prompt_tokens == auto.usage.prompt_tokens == shown.usage.prompt_tokens
    called = [choice.message.tool_calls or [] for choice in required.choices]
    assert [[call.function.name for call in calls] for calls in called] == [["get_time"]] * 2
    called = [choice.message.tool_calls or [] for choice in auto.choices]
    assert {call.function.name for calls in called for call in calls} == {"get_time"}
    assert not all(called), "with random weights some of twelve speak"


def test_a_streamed_call_joins_to_the_whole_one(tools: EngineServer) -> None:
    ask = {**ASK, "tool_choice": "required", "parallel_tool_calls": False}
    whole = tools.openai.chat.completions.create(**ask).choices[0].message.tool_calls or []
    names: dict[int, str] = {}
    arguments: dict[int, str] = defaultdict(str)
    chunks = list(tools.openai.chat.completions.create(**ask, stream=True))
    for chunk in chunks:
        for piece in chunk.choices[0].delta.tool_calls or []:
            assert piece.function is not None
            if piece.function.name:
                assert piece.id
                names[piece.index] = piece.function.name
            arguments[piece.index] += piece.function.arguments or ""
    assert [*names.values()] == [call.function.name for call in whole]
    assert [*arguments.values()] == [call.function.arguments for call in whole]
    assert chunks[-1].choices[0].finish_reason == "tool_calls"
    assert not any(chunk.choices[0].delta.content for chunk in chunks)


def test_none_offers_no_tools_and_auto_leaves_the_model_free(tools: EngineServer) -> None:
    ask = {**ASK, "max_tokens": 5}
    without = tools.openai.chat.completions.create(model="tiny", messages=MESSAGES, max_tokens=5)
    none = tools.openai.chat.completions.create(**ask, tool_choice="none")
    auto = tools.openai.chat.completions.create(**ask)
    assert without.usage
    assert none.usage
    assert auto.usage
    assert none.usage.prompt_tokens == without.usage.prompt_tokens
    assert auto.usage.prompt_tokens > none.usage.prompt_tokens
    assert auto.choices[0].finish_reason == "length"
    assert auto.choices[0].message.tool_calls is None


@pytest.mark.parametrize("asked", ["response_format", "guided_regex", "guided_grammar"])
def test_beside_tools_an_answer_is_a_call_or_of_the_form_that_was_asked_for(
    tools: EngineServer, asked: str
) -> None:
    schema = {"type": "object", "properties": {"answer": {"enum": ["yes", "no"]}},
              "required": ["answer"], "additionalProperties": False}  # fmt: skip
    target: Any = {
        "response_format": {
            "type": "json_schema", "json_schema": {"name": "reply", "schema": schema},
        },
        "guided_regex": r'\{"answer": "(yes|no)"\}',
        "guided_grammar": 'start: "{\\"answer\\": \\"" word "\\"}"\nword: "yes" | "no"',
    }[asked]  # fmt: skip
    ask = {**ASK, asked: target, "n": 12, "parallel_tool_calls": False}
    answered = tools.post(CHAT, **ask)
    assert answered.status_code == 200, answered.text
    choices = answered.json()["choices"]
    spoken = [one for one in choices if not one["message"].get("tool_calls")]
    called = [one for one in choices if one["message"].get("tool_calls")]
    assert spoken, "with random weights some of twelve speak"
    assert called, "and some call"
    assert {json.loads(one["message"]["content"])["answer"] for one in spoken} <= {"yes", "no"}
    assert {one["finish_reason"] for one in spoken} == {"stop"}
    for one in called:
        (call,) = one["message"]["tool_calls"]
        assert call["function"]["name"] in ("get_weather", "get_time")
        json.loads(call["function"]["arguments"])
    forced = tools.post(CHAT, **{**ask, "n": 1, "tool_choice": "required"}).json()["choices"][0]
    assert forced["finish_reason"] == "tool_calls"


def test_a_schema_that_no_grammar_holds_does_not_matter_where_no_call_is_forced(
    tools: EngineServer,
) -> None:
    offered = [_tool(f"f{at}", schema) for at, schema in enumerate(UNHELD)]
    answer = tools.post(CHAT, **{**ASK, "tools": offered, "max_tokens": 3})
    assert answer.status_code == 200, answer.text


def test_a_forced_call_is_held_to_a_looser_schema_and_looked_at_when_it_is_whole(
    tools: EngineServer,
) -> None:
    def ask(least: int, **more: Any) -> Any:
        ids = {
            "type": "array", "items": {"const": 1}, "uniqueItems": True,
            "minItems": least, "maxItems": least,
        }  # fmt: skip
        schema = {"type": "object", "properties": {"ids": ids}, "required": ["ids"]}
        body = {**ASK, "tools": [_tool("9-take", schema)], "tool_choice": "required"}
        return tools.post(CHAT, **body, parallel_tool_calls=False, **more)

    (call,) = ask(1).json()["choices"][0]["message"]["tool_calls"]
    assert call["function"] | {"arguments": json.loads(call["function"]["arguments"])} == {
        "name": "9-take", "arguments": {"ids": [1]},
    }  # fmt: skip
    broken = ask(2)
    error = broken.json()["error"]
    assert (broken.status_code, error["code"]) == (422, "schema_not_held")
    assert "`9-take`" in error["message"]
    assert "`ids`: [1,1] has non-unique elements" in error["message"]
    *_, last = ask(2, stream=True).text.strip().split("\n\n")
    assert json.loads(last.removeprefix("data: "))["error"]["code"] == "schema_not_held"


def test_an_answer_is_looked_at_where_its_grammar_is_looser_than_its_schema(
    tools: EngineServer,
) -> None:
    def ask(schema: dict[str, Any]) -> Any:
        target = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
        return tools.post(CHAT, **{**ASK, "tools": [], "response_format": target})

    answer = ask({"enum": ["a", "b"], "not": {"const": "c"}})
    assert answer.json()["choices"][0]["message"]["content"] in ('"a"', '"b"')
    broken = ask({"enum": ["a", "b"], "not": {"enum": ["a", "b"]}})
    assert broken.status_code == 422
    assert "`response_format.json_schema.schema`" in broken.json()["error"]["message"]


@pytest.mark.parametrize("arguments", ["{broken", "[1]", "null", '"text"', ["list"], 7])
def test_arguments_that_are_no_object_are_shown_to_the_model(
    tools: EngineServer, arguments: Any
) -> None:
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": arguments}}
    history = [*MESSAGES, {"role": "assistant", "content": None, "tool_calls": [call]}]
    answer = tools.post(CHAT, **{**ASK, "messages": history, "max_tokens": 1})
    assert answer.status_code == 200, answer.text


def test_a_call_and_its_result_are_given_back_to_the_template(tools: EngineServer) -> None:
    answered = [
        *MESSAGES,
        {
            "role": "assistant", "content": None,
            "tool_calls": [
                {
                    "id": "call_1", "type": "function",
                    "function": {"name": "get_weather", "arguments": '{"unit": "celsius"}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": "21 degrees"},
    ]  # fmt: skip
    answer = tools.post(CHAT, **{**ASK, "messages": answered, "max_tokens": 3})
    assert answer.status_code == 200, answer.text


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("tool_choice", {"tools": None, "tool_choice": "required"}),
        ("tool_choice.function.name", {"tool_choice": {**TIME, "function": {"name": "x"}}}),
        (
            "tool_choice.allowed_tools.tools.1.function.name",
            {
                "tool_choice": {
                    "type": "allowed_tools",
                    "allowed_tools": {
                        "mode": "auto", "tools": [TIME, {**TIME, "function": {"name": "x"}}],
                    },
                }
            },
        ),
        (
            "tool_choice.allowed_tools.mode",
            {
                "tool_choice": {
                    "type": "allowed_tools", "allowed_tools": {"mode": "none", "tools": [TIME]},
                }
            },
        ),
        ("guided_regex", {"guided_regex": "("}),
        ("tools.0.type", {"tools": [{"type": "web_search"}]}),
        ("tools.0.function.name", {"tools": [{"type": "function", "function": {"name": "a b"}}]}),
        (
            "tools.1.function.parameters",
            {
                "tools": [TIME, _tool("f", {"type": "string", "pattern": "("})],
                "tool_choice": "required",
            },
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_offered_is_refused_by_name(
    tools: EngineServer, field: str, change: dict[str, Any]
) -> None:
    answer = tools.post(CHAT, **{**ASK, **change})
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, field)


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("tools", {"tools": [WEATHER]}),
        ("messages.1.role", {"messages": [*MESSAGES, {"role": "tool", "content": "21"}]}),
    ],
)
def test_a_template_without_tools_says_what_to_do(
    server: EngineServer, field: str, change: dict[str, Any]
) -> None:
    error = server.post(CHAT, **{"messages": MESSAGES, **change}).json()["error"]
    assert (error["param"], error["code"]) == (field, "unsupported_parameter")
    assert "enginehouse.generic_tools" in error["message"]


def test_reasoning_stands_beside_the_content_and_a_schema_holds_what_follows(
    tools: EngineServer, tool_folder: Path
) -> None:
    end = Tokenizer.from_file(str(tool_folder / "tokenizer.json")).token_to_id("</think>")
    thinking = {"chat_template_kwargs": {"enable_thinking": True}}
    ask = {"model": "tiny", "messages": MESSAGES, "max_tokens": 12, "temperature": 0}
    endless = tools.openai.chat.completions.create(**ask, extra_body=thinking).choices[0].message
    assert endless.content == ""
    assert endless.model_extra
    assert endless.model_extra["reasoning_content"]
    holding = tools.openai.chat.completions.create(
        **ask, logit_bias={str(end): 100}, extra_body={**thinking, "guided_regex": "[ab]{3}"}
    )
    assert (holding.choices[0].message.content or "").strip("ab") == ""
    assert len(holding.choices[0].message.content or "") == 3
