"""Schemas of the OpenAPI document as flat tables of fields."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from apps.ui.formats import spaced

_DEEPEST = 6
_HAS_ITS_OWN_PAGE = "ConfigFile"
Schema = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class FieldLine:
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
    if ways := _ways(schema, components):
        yield from _of_any(ways, components, path, depth)
        return
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
        if depth and not _is_elsewhere(inner):
            yield from _lines(inner, components, full, depth - 1)


def _is_elsewhere(schema: Schema) -> bool:
    """Return whether its fields are told on a page of their own: the config reference."""
    targets = schema.get("allOf", [schema])
    return any(_name(each) == _HAS_ITS_OWN_PAGE for each in targets if "$ref" in each)


def _ways(schema: Schema, components: Schema) -> Sequence[Schema]:
    plain = components[_name(schema)] if "$ref" in schema else schema
    ways: Sequence[Schema] = plain.get("oneOf", ())
    return ways if len(ways) > 1 and all("$ref" in way for way in ways) else ()


def _of_any(
    ways: Sequence[Schema], components: Schema, path: str, depth: int
) -> Iterator[FieldLine]:
    """Yield the fields of every shape, each once; required is what all of them require."""
    shapes = [{line.name: line for line in _lines(way, components, path, depth)} for way in ways]
    names = dict.fromkeys(name for shape in shapes for name in shape)
    for name in names:
        values = [shape[name] for shape in shapes if name in shape]
        is_required = len(values) == len(shapes) and all(line.is_required for line in values)
        yield replace(values[0], is_required=is_required)


def _name(schema: Schema) -> str:
    return str(schema["$ref"]).rpartition("/")[2]


def _resolved(schema: Schema, components: Schema) -> Schema:
    """Return the schema that is pointed to, the first of several, with what is said beside it."""
    if "$ref" in schema:
        return _resolved(components[_name(schema)], components)
    ways = schema.get("allOf") or schema.get("oneOf")
    if not ways:
        return schema
    resolved = _resolved(ways[0], components)
    beside = {name: value for name, value in schema.items() if name in ("nullable", "default")}
    return {**resolved, **beside}


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
        return "" if high is None else spaced(f" up to {high:,}")
    return spaced(f" from {low:,}" if high is None else f" {low:,} to {high:,}")
