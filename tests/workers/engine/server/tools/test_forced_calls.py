"""A forced call is written as each dialect writes it, and obeys the schema of its function."""

import json

import pytest

from tests.workers.engine.asking import Asked
from workers.engine.engine import Engine
from workers.engine.server.tools import dialects, forced
from workers.engine.server.tools.dialects import Dialect
from workers.engine.server.tools.fields import Function
from workers.engine.server.tools.forced import call_grammar, closed_schema
from workers.engine.server.tools.reader import ChatReader

pytestmark = pytest.mark.engine

PROMPT = (1, 321, 71, 84, 42)
FUNCTIONS = [
    Function(
        name="get_weather",
        parameters={
            "type": "object",
            "properties": {"unit": {"enum": ["C", "F"]}, "days": {"enum": [1, 2]}},
            "required": ["unit", "days"],
        },
    ),
    Function(name="get_time"),
]
DIALECTS = [each for each in vars(dialects).values() if isinstance(each, Dialect)]


@pytest.mark.parametrize("is_parallel", [True, False])
@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda each: each.name)
def test_a_forced_call_reads_back_as_one_of_the_functions(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, dialect: Dialect, is_parallel: bool
) -> None:
    monkeypatch.setattr(forced, "MOST_CALLS", 3)  # more do not fit the tiny model's positions
    special = engine.codec.special_tokens
    schemas = {
        each.name: engine.grammars.compile(closed_schema(each), field="tools").schema or {}
        for each in FUNCTIONS
    }
    text = call_grammar(dialect, schemas, special_tokens=special, is_parallel=is_parallel)
    grammar = engine.grammars.compile_lark(text, field="tools")
    request = Asked(
        engine, PROMPT, grammar=grammar, max_tokens=2000, temperature=1.0, seed=1,
        shows_special_tokens=True,
    )  # fmt: skip
    reader = ChatReader(dialect, tool_names=[each.name for each in FUNCTIONS])
    statement = reader.push(request.finish().text) + reader.finish()
    assert statement.content.strip() == ""
    assert 1 <= len(statement.calls) <= (3 if is_parallel else 1)
    for call in statement.calls:
        arguments = json.loads(call.arguments)
        if call.name == "get_time":
            assert arguments == {}
        else:
            assert call.name == "get_weather"
            assert arguments["unit"] in ("C", "F")
            assert arguments.keys() == {"unit", "days"}
