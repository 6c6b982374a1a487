"""What is left of a schema where no grammar holds all of it."""

from collections.abc import Mapping
from typing import Any

from llguidance import LLMatcher

VALUES = ("const", "default", "enum", "examples")
"""Keywords of a schema below which no schema stands."""


def without_odd_patterns(schema: Any) -> Any:
    """Give back a schema without expressions that llguidance cannot read, such as look-ahead."""
    if isinstance(schema, list):
        return [without_odd_patterns(each) for each in schema]
    if not isinstance(schema, Mapping):
        return schema
    return {
        name: value if name in VALUES else without_odd_patterns(value)
        for name, value in schema.items()
        if not (name == "pattern" and isinstance(value, str) and _is_odd(value))
    }


def _is_odd(pattern: str) -> bool:
    return bool(LLMatcher.validate_grammar(LLMatcher.grammar_from_regex(pattern)))
