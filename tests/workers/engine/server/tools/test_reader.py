"""Each dialect's calls are read whatever the pieces in which their text arrives."""

import json
from typing import Any

import pytest

from controlplane.domain.runtimes.native.chat_forms import READ_FORMS
from workers.engine.server.delta import Delta
from workers.engine.server.tools.dialects import (
    BY_FORM,
    DEEPSEEK,
    DEEPSEEK_BARE,
    HERMES,
    LLAMA3,
    MISTRAL,
    MISTRAL_NAMED,
    PYTHONIC,
    Dialect,
    choose_dialect,
)
from workers.engine.server.tools.reader import ChatReader

pytestmark = pytest.mark.engine

WEATHER = ("get_weather", {"city": 'Bo"st}on', "days": [1, {"a": 2}]})
TIME = ("get_time", {})
ARGUMENTS = json.dumps(WEATHER[1])
JSON_CALL = f'{{"name": "get_weather", "arguments": {ARGUMENTS}}}'
LLAMA_CALL = f'{{"name": "get_weather", "parameters": {ARGUMENTS}}}'
TWO_CALLS: list[tuple[Dialect, str, str]] = [
    (
        HERMES,
        f"Let me see.\n<tool_call>\n{JSON_CALL}\n</tool_call>\n"
        '<tool_call>{"arguments": {}, "name": "get_time"}</tool_call>\n',
        "Let me see.",
    ),
    (LLAMA3, f'<|python_tag|>{LLAMA_CALL}; {{"name": "get_time", "parameters": {{}}}}', ""),
    (LLAMA3, f'\n{LLAMA_CALL}\n{{"name": "get_time"}}', ""),
    (MISTRAL, f'[TOOL_CALLS] [{JSON_CALL}, {{"name": "get_time", "arguments": {{}}}}]', ""),
    (MISTRAL_NAMED, f"[TOOL_CALLS]get_weather[ARGS]{ARGUMENTS}[TOOL_CALLS]get_time[ARGS]{{}}", ""),
    (
        DEEPSEEK,
        "Well.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n"
        f"```json\n{ARGUMENTS}\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>"
        "get_time\n```json\n{}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        "Well.",
    ),
    (
        DEEPSEEK_BARE,
        f"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>{ARGUMENTS}"
        "<｜tool▁call▁end｜><｜tool▁call▁begin｜>get_time<｜tool▁sep｜>{}<｜tool▁call▁end｜>"
        "<｜tool▁calls▁end｜>",
        "",
    ),
    (
        PYTHONIC,
        "[get_weather(city='Bo\"st}on', days=[1, {'a': 2}]), get_time()]",
        "",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("dialect", "text", "content"), TWO_CALLS)
def test_two_calls_are_read_however_the_text_is_split(
    dialect: Dialect, text: str, content: str
) -> None:
    for size in (1, 2, 3, 7, 40, len(text)):
        statement = _read(dialect, text, size)
        calls = [(one.name, json.loads(one.arguments)) for one in statement.calls]
        assert calls == [WEATHER, TIME], size
        assert statement.content == content
        assert [one.index for one in statement.calls] == [0, 1]


def test_arguments_leave_before_the_call_is_whole() -> None:
    reader = _reader(HERMES)
    deltas = [reader.push(character) for character in f"<tool_call>{JSON_CALL}"]
    parts = [one for delta in deltas for one in delta.calls]
    assert parts[0].name == "get_weather"
    assert parts[0].arguments == ""
    assert len(parts) > 10
    assert all(one.name is None and len(one.arguments) == 1 for one in parts[1:])


@pytest.mark.parametrize(
    ("dialect", "text"),
    [
        (HERMES, "a < b and <tool\nbox>"),
        (HERMES, "<tool_call>this is no call"),
        (HERMES, "<tool_call>{neither}</tool_call> this"),
        (LLAMA3, '{"name": "Ada", "age": 36}'),
        (LLAMA3, "  The sky {is} blue."),
        (PYTHONIC, "[see here](https://example.com)"),
        (PYTHONIC, "[1, 2, 3]"),
        (PYTHONIC, "[print(text='blue')]"),
        (MISTRAL, "[TOOL_CALLING is a word]"),
    ],
)
@pytest.mark.parametrize("size", [1, 5, 100])
def test_text_that_is_no_call_stays_content(dialect: Dialect, text: str, size: int) -> None:
    content = _read(dialect, text, size)
    assert (content.content, content.calls) == (text, ())


@pytest.mark.parametrize("size", [1, 4, 100])
def test_only_the_first_call_counts_where_one_is_wanted(size: int) -> None:
    _, text, _ = TWO_CALLS[0]
    content = _read(HERMES, text, size, is_parallel=False)
    assert [one.name for one in content.calls] == ["get_weather"]


@pytest.mark.parametrize(
    ("dialect", "call"),
    [
        (HERMES, f"<tool_call>{JSON_CALL}</tool_call>"),
        (
            DEEPSEEK_BARE,
            '<｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>{"name": "get_time"}<｜tool▁call▁end｜>',
        ),
        (LLAMA3, LLAMA_CALL),
        (PYTHONIC, "[get_weather(city='Boston')]"),
    ],
)
@pytest.mark.parametrize("size", [1, 5, 200])
def test_a_call_of_a_tool_that_is_not_allowed_stays_content(
    dialect: Dialect, call: str, size: int
) -> None:
    content = _read(dialect, call, size, tool_names=["get_time"], holds_to_names=True)
    assert (content.content, content.calls) == (call, ())
    (report,) = _read(dialect, call, size, holds_to_names=True).calls
    assert report.name == "get_weather"


@pytest.mark.parametrize("size", [1, 3, 100])
@pytest.mark.parametrize(
    ("text", "is_thinking"),
    [
        ("<think>\nLet me think. \n</think>\n\nBlue.", False),
        ("Let me think.\n</think>\n\nBlue.", True),
    ],
)
def test_reasoning_is_set_apart(text: str, is_thinking: bool, size: int) -> None:
    content = _read(None, text, size, thinks=True, is_thinking=is_thinking)
    assert (content.reasoning, content.content) == ("Let me think.", "Blue.")


def test_a_call_after_reasoning_is_a_call() -> None:
    text = f"<think>Hm.</think>\n\n<tool_call>{JSON_CALL}</tool_call>"
    content = _read(HERMES, text, 2, thinks=True)
    assert (content.reasoning, content.content, len(content.calls)) == ("Hm.", "", 1)


@pytest.mark.parametrize(
    ("template", "dialect"),
    [
        ("{% if tools %}<tool_call>{% endif %}", HERMES),
        ("<tool_call><function=", None),
        ("<tool_call>{function-name}\n<arg_key>", None),
        ("<tool_call><tool_calls>", None),
        ("{{ '[TOOL_CALLS] [' }}", MISTRAL),
        ("[TOOL_CALLS]name[ARGS]", MISTRAL_NAMED),
        ("<｜tool▁call▁begin｜> ```json", DEEPSEEK),
        ("<｜tool▁call▁begin｜>", DEEPSEEK_BARE),
        ("[func_name1(params_name1=params_value1)] <|python_tag|>", PYTHONIC),
        ("<|python_tag|>", LLAMA3),
        ("{{ tools }}", None),
    ],
)
def test_the_template_tells_the_dialect(template: str, dialect: Dialect | None) -> None:
    assert choose_dialect(template) is dialect


def test_the_forms_that_checks_say_are_read_are_those_that_have_a_dialect() -> None:
    assert set(BY_FORM) == READ_FORMS


def _reader(dialect: Dialect | None, **how: Any) -> ChatReader:
    return ChatReader(dialect, **{"tool_names": ["get_weather", "get_time"], **how})


def _read(dialect: Dialect | None, text: str, size: int, **how: Any) -> Delta:
    reader = _reader(dialect, **how)
    pieces = [reader.push(text[start : start + size]) for start in range(0, len(text), size)]
    return sum([*pieces, reader.finish()], Delta())
