"""The config file in the OpenAPI document: JSON Schema in the words of OpenAPI 3.0."""

from collections.abc import Mapping
from typing import Any

from controlplane.domain.spec.json_schema import field_schema

Schema = dict[str, Any]

CONFIG_FILE: Schema = {"$ref": "#/components/schemas/ConfigFile"}
"""What a field that holds a whole config points to."""
_OLD, _NEW = "#/definitions/", "#/components/schemas/Config"


def with_config_file(result: Schema, **_: Any) -> Schema:
    """Return the document with a component for the config file and for each block of it."""
    schema = dict(field_schema())
    blocks = {f"Config{name}": block for name, block in schema.pop("definitions").items()}
    made = {name: _converted(block) for name, block in {"ConfigFile": schema, **blocks}.items()}
    components = result["components"]["schemas"]
    if taken := made.keys() & components.keys():
        raise ValueError(f"components of the config are called like others: {sorted(taken)}")
    result["components"]["schemas"] = dict(sorted({**components, **made}.items()))
    return result


def _converted(node: Any) -> Any:
    if isinstance(node, list):
        return [_converted(each) for each in node]
    if not isinstance(node, Mapping):
        return node
    ways = node.get("anyOf", ())
    if {"type": "null"} in ways:
        rest = {name: value for name, value in node.items() if name != "anyOf"}
        return _nullable([each for each in ways if each != {"type": "null"}], rest)
    if "$ref" in node:
        return _pointing(node)
    return _plain({name: _converted(value) for name, value in node.items()})


def _nullable(ways: list[Schema], beside: Schema) -> Schema:
    if len(ways) > 1:
        return {"anyOf": _converted(ways), **_converted(beside), "nullable": True}
    way = _converted({**ways[0], **beside})
    # A closed set of values has to name null too.
    return {**way, "nullable": True, **({"enum": [*way["enum"], None]} if "enum" in way else {})}


def _pointing(node: Mapping[str, Any]) -> Schema:
    """Return the reference; in 3.0 nothing may stand beside one."""
    target = {"$ref": node["$ref"].replace(_OLD, _NEW)}
    beside = {name: value for name, value in node.items() if name != "$ref"}
    return {"allOf": [target], **beside} if beside else target


def _plain(node: Schema) -> Schema:
    """Return a node without what 3.0 lacks: `const`, rules for names, numbers as open ends."""
    if "const" in node:
        node["enum"] = [node.pop("const")]
    node.pop("propertyNames", None)
    if names := node.pop("patternProperties", None):
        (node["additionalProperties"],) = names.values()
    for end, limit in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if isinstance(node.get(end), int | float) and not isinstance(node.get(end), bool):
            node |= {limit: node[end], end: True}
    return node
