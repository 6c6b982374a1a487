"""The grammar of an answer that must be tool calls."""

import json
import re
from collections.abc import Mapping
from typing import Any

from workers.engine.server.tools.dialects import Dialect
from workers.engine.server.tools.fields import Function

MOST_CALLS = 16
NO_PARAMETERS: Mapping[str, Any] = {
    "type": "object", "properties": {}, "additionalProperties": False,
}  # fmt: skip


def call_grammar(
    dialect: Dialect,
    schemas: Mapping[str, Mapping[str, Any]],
    *,
    special_tokens: Mapping[str, int],
    is_parallel: bool,
) -> str:
    """Give back a grammar in Lark's notation: one call or several, as the dialect writes them.

    The schemas are those of the arguments, by the function's name, in the style of their JSON.
    """

    def text(literal: str) -> str:
        return _literal(literal, special_tokens)

    more = f"({text(dialect.between)} call){{0,{MOST_CALLS - 1}}}" if is_parallel else ""
    rules = [f"start: {text(dialect.before_all)} call {more} {text(dialect.after_all)}"]
    rules.append("call: " + " | ".join(f"call_{at}" for at in range(len(schemas))))
    for at, (name, schema) in enumerate(schemas.items()):
        before, after = _around_arguments(dialect, name)
        rules.append(f"call_{at}: {text(before)} arguments_{at} {text(after)}")
        rules.append(f"arguments_{at}: %json {json.dumps(schema)}")
    return "\n".join(rules)


def closed_schema(function: Function) -> Mapping[str, Any]:
    """Give back the schema of a function's arguments.

    One that does not say otherwise is closed: a weak model would invent arguments.
    """
    schema = function.parameters or NO_PARAMETERS
    return {"additionalProperties": False, **schema} if "properties" in schema else schema


def _around_arguments(dialect: Dialect, name: str) -> tuple[str, str]:
    if dialect.name_end is not None:
        return dialect.before_call + name + dialect.name_end, dialect.after_call
    head = f'{{"name": {json.dumps(name)}, "{dialect.arguments_key}": '
    return dialect.before_call + head, "}" + dialect.after_call


def _literal(text: str, special_tokens: Mapping[str, int]) -> str:
    """Special tokens go by their number: as text the model would spell them out."""
    if not text:
        return ""
    names = sorted(special_tokens, key=len, reverse=True)
    pattern = "(" + "|".join(map(re.escape, names)) + ")" if names else "(?!)()"
    parts = [part for part in re.split(pattern, text) if part]
    return " ".join(
        f"<[{special_tokens[part]}]>"
        if part in special_tokens
        else json.dumps(part, ensure_ascii=False)
        for part in parts
    )
