"""The form of a checkpoint's tool calls and reasoning is told by its chat template.

`chat_templates.jsonl` holds the parsers that vLLM's pages on tool calling and reasoning name for
each model (or none), read 2026-11-30, and texts of its template: about a dozen templates were read
on that day, the texts of the others are what is known of them as published.
"""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from controlplane.domain.facts import checkpoints
from controlplane.domain.facts.chat_forms import (
    CALL_WORDS,
    CALLS_BY_MARKS,
    THOUGHT_WORDS,
    THOUGHTS_BY_MARKS,
    CallForm,
    ThoughtForm,
)
from controlplane.domain.facts.checkpoints import CheckpointFacts
from tests.domain.cases import DATA

TEMPLATES: list[dict[str, Any]] = [
    json.loads(line) for line in (DATA / "chat_templates.jsonl").read_text().splitlines()
]


def facts_of(model: Mapping[str, Any]) -> CheckpointFacts:
    template = "\n".join(model["texts"])
    return checkpoints.read(
        {"architectures": ["LlamaForCausalLM"], "model_type": model["model_type"]},
        tokenizer_config={"chat_template": template},
    )


@pytest.mark.parametrize("model", TEMPLATES, ids=lambda model: model["model"])
def test_a_published_template_tells_its_forms(model: dict[str, Any]) -> None:
    facts = facts_of(model)
    assert (facts.call_form, facts.thought_form) == (model["call_form"], model["thought_form"])


def test_every_form_has_marks_and_words_and_a_published_template() -> None:
    assert set(CALLS_BY_MARKS.values()) == set(CallForm) == set(CALL_WORDS)
    assert set(THOUGHTS_BY_MARKS.values()) == set(ThoughtForm) == set(THOUGHT_WORDS)
    without = {model["call_form"] for model in TEMPLATES} ^ {*CallForm, None}
    assert without == {CallForm.DEEPSEEK_FUNCTIONS, CallForm.DEEPSEEK_TOOLS}


def test_of_several_templates_the_one_for_tools_counts() -> None:
    templates = [
        {"name": "default", "template": "<|im_start|>"},
        {"name": "tool_use", "template": "{%- if tools %}<tool_call>"},
    ]
    content = checkpoints.read({}, tokenizer_config={"chat_template": templates})
    assert (content.renders_tools, content.call_form) == (True, CallForm.HERMES)


@pytest.mark.parametrize("template", [None, 7, [], [7], [{"name": "default"}], {"default": 7}])
def test_nothing_is_known_of_a_template_that_is_no_text(template: Any) -> None:
    content = checkpoints.read({}, tokenizer_config={"chat_template": template})
    assert (content.renders_tools, content.call_form, content.thought_form) == (None, None, None)
