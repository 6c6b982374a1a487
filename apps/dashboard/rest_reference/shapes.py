"""Schemas of the OpenAPI document as flat tables of fields."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

_DEEPEST = 6
Schema = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class FieldLine:
    """One field, by its dotted path."""

    name: str
    kind: str
    is_required: bool
    words: str


def field_lines(schema: Schema, components: Schema) -> tuple[FieldLine, ...]:
    """Return every field of a body; those of rows in a list stand under `name[]`."""
    return tuple(_lines(schema, components, "", _DEEPEST))


def kind_of(schema: Schema, components: Schema) -> str:
    """Return a type in words: `text`, `number 1 to 1,000`, `list of text or null`."""
    plain = _resolved(schema, components)
    words = _kind(plain, components)
    return f"{words} or null" if plain.get("nullable") else words


def words_of(node: Schema) -> str:
    """Return what is said of it, without the list of choices that the framework adds."""
    lines = str(node.get("description", "")).splitlines()
    return " ".join(line for line in lines if line and not line.startswith("* "))


def _lines(schema: Schema, components: Schema, path: str, depth: int) -> Iterator[FieldLine]:
    plain = _resolved(schema, components)
    if plain.get("type") == "array":
        yield from _lines(plain["items"], components, f"{path}[]", depth)
        return
    required = plain.get("required", ())
    for name, inner in plain.get("properties", {}).items():
        full = f"{path}.{name}".lstrip(".")
        yield FieldLine(
            name=full,
            kind=kind_of(inner, components),
            is_required=name in required,
            words=words_of(inner),
        )
        if depth:
            yield from _lines(inner, components, full, depth - 1)


def _resolved(schema: Schema, components: Schema) -> Schema:
    """Return the schema that is pointed to, the first of several, with what is said beside it."""
    if "$ref" in schema:
        return _resolved(components[schema["$ref"].rpartition("/")[2]], components)
    ways = schema.get("allOf") or schema.get("oneOf")
    if not ways:
        return schema
    found = _resolved(ways[0], components)
    beside = {name: value for name, value in schema.items() if name in ("nullable", "default")}
    return {**found, **beside}


def _kind(plain: Schema, components: Schema) -> str:
    if choices := plain.get("enum"):
        return " | ".join(str(choice) for choice in choices if choice not in (None, ""))
    match plain.get("type"):
        case "array":
            return f"list of {kind_of(plain['items'], components)}"
        case "string":
            return _TEXTS.get(plain.get("format", ""), "text")
        case "integer" | "number":
            return f"number{_limits(plain)}"
        case "boolean":
            return "true or false"
        case "object":
            return "object"
    return "anything"


_TEXTS = {"date-time": "time", "date": "day", "decimal": "decimal as text", "binary": "file"}


def _limits(plain: Schema) -> str:
    low, high = plain.get("minimum"), plain.get("maximum")
    if low is None:
        return "" if high is None else f" up to {high:,}"
    return f" from {low:,}" if high is None else f" {low:,} to {high:,}"
