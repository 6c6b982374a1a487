"""Prompts of the answer guard are read whole, or refused with the one that is wrong."""

import json
from typing import Any

import pytest

from controlplane.domain.rolling.answer_guard import (
    MOST_PROMPTS_BYTES,
    PromptProblem,
    chat_body,
    prompt_lines,
    prompts_of_lines,
    read_prompts,
)

BODY = {"messages": [{"role": "user", "content": "Hi"}]}


def _format(schema: Any) -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ("Hi", "Send a list"),
        ([], "at least one"),
        (["x"] * 101, "101 prompts are more than 100"),
        (["Hi", "  "], "Prompt 2: it is empty"),
        (["a\x00"], "Prompt 1: it is empty, or holds a character"),
        ([1], "Prompt 1: it is 1"),
        ([{"messages": []}], "`messages` is missing or empty"),
        ([{"messages": ["Hi"]}], "each of `messages`"),
        ([BODY | {"stream": True}], "leave `stream` and `n` out"),
        ([BODY | {"user": "\ud800"}], "holds a character"),
        ([BODY | {"response_format": _format({"type": "nope"})}], "cannot be held to"),
        ([BODY | {"response_format": _format({"$ref": "http://x/"})}], "nothing is fetched"),
        (["x" * MOST_PROMPTS_BYTES], "more than 262,144"),
    ],
)  # fmt: skip
def test_what_cannot_be_asked_is_refused_with_its_number(told: Any, words: str) -> None:
    with pytest.raises(PromptProblem) as refused:
        read_prompts(told)
    assert words in str(refused.value)


def test_every_prompt_is_sent_at_temperature_0_with_a_seed_and_a_bounded_length() -> None:
    forced = {"temperature": 0, "seed": 0, "stream": False, "model": "tiny"}
    assert chat_body("Hi", model="tiny") == BODY | {"max_tokens": 256} | forced
    own = BODY | {"temperature": 1, "seed": 7, "max_completion_tokens": 9, "tools": []}
    assert chat_body(own, model="tiny") == own | forced


def test_lines_of_a_form_hold_each_prompt_as_it_was() -> None:
    prompts = ["Hi", BODY | {"max_tokens": 5}, "{not JSON"]
    assert prompts_of_lines(prompt_lines(prompts[:2])) == prompts[:2]
    assert prompts_of_lines("Hi\r\n\n  {not JSON  \n") == ["Hi", "{not JSON"]
    several = prompt_lines(["two\nlines"])
    assert json.loads(several)["messages"] == [{"role": "user", "content": "two\nlines"}]
