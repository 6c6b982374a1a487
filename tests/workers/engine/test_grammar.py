"""Answers under a schema are valid JSON, whatever the model would rather say."""

import json
import re
from datetime import date
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, Field

from tests.tiny_checkpoint import make_tiny_checkpoint
from tests.workers.engine.asking import Asked, start_engine
from workers.engine.engine import Engine
from workers.engine.errors import CheckpointRefused, RequestRefused
from workers.engine.generation import FinishReason
from workers.engine.grammar import Grammars

pytestmark = pytest.mark.engine

PROMPT = (1, 321, 71, 84, 42)
PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 8},
        "age": {"type": "integer", "minimum": 0, "maximum": 150},
        "mood": {"enum": ["good", "bad"]},
    },
    "required": ["name", "age", "mood"],
    "additionalProperties": False,
}


class Mood(StrEnum):
    GOOD = "good"
    BAD = "bad"


class Pet(BaseModel):
    """A schema as the `openai` client makes it: titles, defaults, references, unions."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(description="What it answers to", max_length=8)
    born: date
    mood: Mood
    weight: float | None = None
    friends: list["Pet"] = Field(default=[], max_length=1)


@pytest.mark.parametrize("seed", range(6))
def test_a_random_model_still_answers_with_the_schema(engine: Engine, seed: int) -> None:
    grammar = engine.grammars.compile(PERSON, field="schema")
    request = Asked(
        engine, PROMPT, grammar=grammar, max_tokens=120, temperature=1.5, top_k=5, seed=seed
    ).finish()
    answer = json.loads(request.text)
    assert request.reason is FinishReason.STOP
    assert set(answer) == {"name", "age", "mood"}
    assert 0 <= answer["age"] <= 150


def test_free_and_constrained_rows_share_a_batch(engine: Engine) -> None:
    alone = Asked(engine, PROMPT, max_tokens=30).finish().tokens
    grammars = [engine.grammars.compile(PERSON, field="schema") for _ in range(3)]
    constrained = [Asked(engine, PROMPT, grammar=one, max_tokens=120) for one in grammars]
    free = Asked(engine, PROMPT, max_tokens=30)
    assert free.finish().tokens == alone
    assert len({one.finish().text for one in constrained}) == 1
    json.loads(constrained[0].text)


@pytest.mark.parametrize("seed", range(3))
def test_a_pydantic_schema_is_held_to(engine: Engine, seed: int) -> None:
    grammar = engine.grammars.compile(Pet.model_json_schema(), field="schema")
    request = Asked(
        engine, PROMPT, grammar=grammar, max_tokens=600, temperature=1.0, top_k=3, seed=seed
    ).finish()
    assert request.reason is FinishReason.STOP, request.text
    Pet.model_validate_json(request.text)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "no such type"},
        {"type": "object", "properties": {"a": {"type": "string", "pattern": "("}}},
        {"$ref": "#/$defs/missing"},
        {"type": "integer", "minimum": 5, "maximum": 3},
        {"$ref": "https://example.com/schema.json"},
    ],
)
def test_a_schema_that_cannot_be_held_to_is_refused(engine: Engine, schema: dict[str, Any]) -> None:
    with pytest.raises(RequestRefused) as refused:
        engine.grammars.compile(schema, field="response_format.json_schema.schema")
    assert refused.value.field == "response_format.json_schema.schema"


def test_what_no_grammar_holds_is_looked_at_in_the_whole_answer(engine: Engine) -> None:
    schema = {
        "type": "object",
        "properties": {"pattern": {"type": "string", "pattern": "^(?=a)[ab]{2}$"}},
        "required": ["pattern"],
        "examples": [{"pattern": "(?=a)"}],
    }
    grammar = engine.grammars.compile(schema, field="schema")
    assert grammar.unheld is not None
    assert grammar.unheld.fault('{"pattern": "ab"}') is None
    assert grammar.unheld.fault('{"pattern": "bb"}') == (
        'at `pattern`: "bb" does not match "^(?=a)[ab]{2}$"'
    )
    assert grammar.schema is not None
    assert grammar.schema["properties"] == {"pattern": {"type": "string"}}
    assert grammar.schema["examples"] == schema["examples"]
    assert engine.grammars.compile(PERSON, field="schema").unheld is None


@pytest.mark.parametrize("seed", range(3))
def test_references_patterns_unions_and_lists_are_held_to(engine: Engine, seed: int) -> None:
    schema = {
        "type": "object",
        "properties": {
            "code": {"type": "string", "pattern": "^[A-Z]{3}-[0-9]{2}$"},
            "tags": {
                "type": "array",
                "items": {"$ref": "#/$defs/tag"},
                "minItems": 2,
                "maxItems": 2,
            },
            "size": {"anyOf": [{"const": 7}, {"const": None}]},
        },
        "required": ["code", "tags", "size"],
        "additionalProperties": False,
        "$defs": {"tag": {"enum": ["red", "blue"]}},
    }
    grammar = engine.grammars.compile(schema, field="schema")
    answer = json.loads(
        Asked(engine, PROMPT, grammar=grammar, max_tokens=200, seed=seed).finish().text
    )
    assert re.fullmatch(r"[A-Z]{3}-[0-9]{2}", answer["code"])
    assert set(answer["tags"]) <= {"red", "blue"}
    assert answer["size"] in (7, None)


def test_expressions_choices_and_grammars_are_held_to(engine: Engine) -> None:
    grammars = engine.grammars
    by_expression = grammars.compile_regex(r"[0-9]{3}-[0-9]{4}", field="guided_regex")
    by_choice = grammars.compile_choice(["red", 'a "blue"'], field="guided_choice")
    by_lark = grammars.compile_lark('start: "x" ("y" | "z")', field="guided_grammar")
    by_gbnf = grammars.compile_lark('root ::= "x" ("y" | "z")', field="guided_grammar")
    texts = [
        Asked(engine, PROMPT, grammar=grammar).finish().text
        for grammar in (by_expression, by_choice, by_lark, by_gbnf)
    ]
    assert re.fullmatch(r"[0-9]{3}-[0-9]{4}", texts[0])
    assert texts[1] in ("red", 'a "blue"')
    assert {*texts[2:]} <= {"xy", "xz"}


@pytest.mark.parametrize("text", ["start: missing", 'root ::= "a', "root ::= ("])
def test_a_grammar_with_a_slip_is_refused(engine: Engine, text: str) -> None:
    with pytest.raises(RequestRefused) as refused:
        engine.grammars.compile_lark(text, field="guided_grammar")
    assert refused.value.field == "guided_grammar"


def test_an_end_token_that_the_tokenizer_does_not_list_still_ends_an_answer(
    tmp_path: Path,
) -> None:
    unlisted = 500
    folder = make_tiny_checkpoint(tmp_path / "tiny")
    (folder / "generation_config.json").write_text(json.dumps({"eos_token_id": [2, unlisted]}))
    engine = start_engine(folder)
    grammar = engine.grammars.compile_regex("[ab]{1,9}", field="guided_regex")
    bias = {unlisted: 100.0}
    request = Asked(engine, PROMPT, grammar=grammar, logit_bias=bias).finish()
    engine.stop()
    assert request.tokens[-1] == unlisted
    assert (request.text, request.reason) in {("a", FinishReason.STOP), ("b", FinishReason.STOP)}


def test_a_tokenizer_larger_than_the_model_is_refused(engine: Engine) -> None:
    tokenizer = engine.codec.backend
    with pytest.raises(CheckpointRefused, match=r"397 tokens and the model 300"):
        Grammars(tokenizer, vocabulary=300, end_tokens={2})
