"""Types, defaults and limits of the config's schema, in words."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

Schema = Mapping[str, Any]
_NULL = {"type": "null"}
_SIMPLE = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "`true` or `false`",
    "object": "mapping",
}
_BOUNDS = {
    "minimum": "at least",
    "exclusiveMinimum": "more than",
    "maximum": "at most",
    "exclusiveMaximum": "less than",
    "multipleOf": "a multiple of",
    "minLength": "characters: at least",
    "maxLength": "characters: at most",
    "maxItems": "entries: at most",
}


def target_of(node: Schema) -> tuple[str | None, str]:
    """Return the definition that a field holds, once, in a list or by name, and the path to it."""
    node = _without_null(node)
    if "$ref" in node:
        return _name(node["$ref"]), ""
    if inner := node.get("items"):
        return target_of(inner)[0], "[]"
    named = node.get("additionalProperties")
    named = next(iter(node.get("patternProperties", {}).values()), named)
    if not named or not isinstance(named, Mapping):
        return None, ""
    return target_of(named)[0], ".NAME"


def kind_of(node: Schema, definitions: Schema) -> str:
    """Return a type in words; a block is a `block`."""
    node = _without_null(node)
    if "$ref" in node:
        return _of_definition(definitions[_name(node["$ref"])])
    if "enum" in node or "const" in node:
        return _choices(node)
    if ways := node.get("anyOf") or node.get("oneOf"):
        return " or ".join(dict.fromkeys(kind_of(way, definitions) for way in ways))
    if inner := node.get("items"):
        return f"list of {kind_of(inner, definitions)}"
    target, suffix = target_of(node)
    if target and suffix:
        return f"name to {_of_definition(definitions[target])}"
    return _SIMPLE.get(node.get("type", ""), "anything")


def default_of(node: Schema) -> str:
    """Return the default as it would be written; empty for none."""
    default = node.get("default")
    if default in (None, "", []):
        return ""
    return default if isinstance(default, str) else json.dumps(default)


def limits_of(node: Schema) -> str:
    """Return the bounds in words; empty where there are none."""
    return ", ".join(_limits(_without_null(node)))


def _limits(node: Schema) -> Iterator[str]:
    if "minimum" in node and node["minimum"] == node.get("maximum"):
        yield f"always {node['minimum']}"
        return
    for bound, words in _BOUNDS.items():
        if bound in node:
            yield f"{words} {node[bound]:,}"
    if "pattern" in node:
        yield f"matches `{node['pattern']}`"


def _of_definition(schema: Schema) -> str:
    if "enum" in schema:
        return _choices(schema)
    return "block" if "properties" in schema else _SIMPLE[schema["type"]]


def _choices(node: Schema) -> str:
    values = node.get("enum", [node.get("const")])
    return ", ".join(f"`{value}`" for value in values)


def _without_null(node: Schema) -> Schema:
    ways = [way for way in node.get("anyOf", ()) if way != _NULL]
    return ways[0] if len(ways) == 1 else node


def _name(reference: str) -> str:
    return reference.rpartition("/")[2]
