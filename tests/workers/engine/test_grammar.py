"""Answers under a schema are valid JSON, whatever the model would rather say."""

import json
from datetime import date
from enum import StrEnum
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, Field

from tests.workers.engine.asking import Asked
from workers.engine.engine import Engine
from workers.engine.errors import RequestRefused
from workers.engine.generation import FinishReason

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
    asked = Asked(
        engine, PROMPT, grammar=grammar, max_tokens=120, temperature=1.5, top_k=5, seed=seed
    ).finish()
    answer = json.loads(asked.text)
    assert asked.reason is FinishReason.STOP
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
    asked = Asked(
        engine, PROMPT, grammar=grammar, max_tokens=600, temperature=1.0, top_k=3, seed=seed
    ).finish()
    assert asked.reason is FinishReason.STOP, asked.text
    Pet.model_validate_json(asked.text)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "no such type"},
        {"type": "object", "properties": {"a": {"type": "string", "pattern": "("}}},
        {"$ref": "#/$defs/missing"},
        {"type": "integer", "minimum": 5, "maximum": 3},
        {"type": "array", "uniqueItems": True},
    ],
)
def test_a_schema_that_cannot_be_held_to_is_refused(engine: Engine, schema: dict[str, Any]) -> None:
    with pytest.raises(RequestRefused) as refused:
        engine.grammars.compile(schema, field="response_format.json_schema.schema")
    assert refused.value.field == "response_format.json_schema.schema"
