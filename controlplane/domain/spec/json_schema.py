"""The JSON Schema of `config.yaml`, for editors and for the REST document.

Draft 7, which every editor reads. It is stricter than the parser in one thing: a number in quotes
is text. Everything else that it refuses the parser refuses, and it knows nothing of the rules.
"""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from functools import cache
from typing import Any

from controlplane.domain.facts.gpus import ACCELERATOR_KINDS
from controlplane.domain.field_docstrings import docstrings_of
from controlplane.domain.spec.checkpoint_repository import HUB_REPOSITORY
from controlplane.domain.spec.choices import CheckpointSource
from controlplane.domain.spec.contradictions import V2_BUILD_FIELDS
from controlplane.domain.spec.engine_build import EngineBuild
from controlplane.domain.spec.section import Section
from controlplane.domain.spec.spec import Spec

Schema = dict[str, Any]

_DEFINITIONS = "definitions"
_PLACE = f"#/{_DEFINITIONS}/"
_FILLED_TEXT = {"type": "string", "minLength": 1}
_FILLED_LIST = {"type": "array", "minItems": 1}
_FILLED_BLOCK = {"type": "object", "minProperties": 1}
_EXCLUDE_EACH_OTHER = (
    {"requirements": _FILLED_LIST, "requirements_file": _FILLED_TEXT},
    {"model_cache": _FILLED_LIST, "weights": _FILLED_LIST},
    {
        "enginehouse": _FILLED_BLOCK,
        "model_metadata": {
            "required": ["enginehouse"],
            "properties": {"enginehouse": _FILLED_BLOCK},
        },
    },
)
_NAMED_CHECKPOINT: Schema = {
    "required": ["checkpoint_repository"],
    "properties": {"checkpoint_repository": {"type": "object"}},
}
_SKIPS_THE_BUILD: Schema = {
    "required": ["skip_build_result"],
    "properties": {"skip_build_result": {"const": True}},
}


@cache
def field_schema() -> Schema:
    """Return every block, field, type, default and limit, without what binds fields together."""
    made = Spec.model_json_schema(ref_template=_PLACE + "{model}")
    made[_DEFINITIONS] = made.pop("$defs")
    _describe(made, Spec)
    for block in _blocks(Section):
        _describe(made[_DEFINITIONS].get(block.__name__, {}), block)
    made["description"] = "A `config.yaml`: the engine, its hardware, and what surrounds them."
    tidy: Schema = _tidy(made)
    return tidy


def config_schema() -> Schema:
    """Return the whole schema, with settings that need or exclude each other."""
    schema = deepcopy(field_schema())
    blocks = schema[_DEFINITIONS]
    blocks["Accelerator"] = _accelerator(blocks["Accelerator"])
    blocks["CheckpointRepository"] |= _hub_ids()
    runtime = blocks["RuntimeV2"]["properties"]
    runtime["gated_features"] = runtime["patch_kwargs"] | {
        "description": "The older name of `patch_kwargs`."
    }
    engine = schema["properties"]["trt_llm"]
    del engine["oneOf"]
    schema["properties"]["trt_llm"] = engine | _stacks()
    head = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Enginehouse config.yaml",
    }
    return head | schema | {"allOf": [_not_all(each) for each in _EXCLUDE_EACH_OTHER]}


def _blocks(block: type[Section]) -> Iterator[type[Section]]:
    for each in block.__subclasses__():
        yield each
        yield from _blocks(each)


def _describe(schema: Schema, block: type[Section]) -> None:
    words = docstrings_of(block)
    fields = schema.get("properties", {})
    for name in fields.keys() & words.keys():
        fields[name] = dict(sorted({**fields[name], "description": words[name]}.items()))


def _tidy(node: Any) -> Any:
    """Return it without made-up titles, line ends in descriptions and whole blocks as defaults."""
    if isinstance(node, list):
        return [_tidy(each) for each in node]
    if not isinstance(node, dict):
        return node
    return dict(_tidied(node))


def _tidied(node: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in node.items():
        if name == "title" and isinstance(value, str):
            continue
        if name == "default" and (value in ({}, None) or isinstance(value, dict)):
            continue
        is_text = name == "description" and isinstance(value, str)
        yield name, " ".join(value.split()) if is_text else _tidy(value)


def _accelerator(text: Schema) -> Schema:
    """Return the ways to write one; the first offers the kinds by name."""
    count = {"type": "integer", "minimum": 1}
    as_block = {
        "type": "object",
        "required": ["accelerator", "count"],
        "properties": {"accelerator": {"enum": list(ACCELERATOR_KINDS)}, "count": count},
        "additionalProperties": False,
    }
    return {
        "description": text["description"],
        "anyOf": [{"enum": list(ACCELERATOR_KINDS)}, text, as_block],
    }


def _hub_ids() -> Schema:
    return {
        "if": {"properties": {"source": {"const": CheckpointSource.HF.value}}},
        "then": {"properties": {"repo": {"pattern": f"^{HUB_REPOSITORY.pattern}$"}}},
    }


def _stacks() -> Schema:
    """Return one schema for each stack, chosen by `inference_stack` so that errors are of one."""
    is_v2 = {"required": ["inference_stack"], "properties": {"inference_stack": {"const": "v2"}}}
    return {"type": "object", "if": is_v2, "then": _v2(), "else": _v1()}


def _v1() -> Schema:
    return {
        "allOf": [{"$ref": f"{_PLACE}TrtLlmV1"}],
        "properties": {"build": _NAMED_CHECKPOINT},
    }


def _v2() -> Schema:
    build = {
        "properties": dict(_settings_of_v1()),
        "anyOf": [_NAMED_CHECKPOINT, _SKIPS_THE_BUILD],
    }
    return {"allOf": [{"$ref": f"{_PLACE}TrtLlmV2"}], "properties": {"build": build}}


def _settings_of_v1() -> Iterator[tuple[str, Schema]]:
    """Yield what v2 has no meaning for: it may say its default, or nothing."""
    for name, field in EngineBuild.model_fields.items():
        default = field.get_default(call_default_factory=True)
        if name not in V2_BUILD_FIELDS and not isinstance(default, Section):
            yield name, {"enum": [default, None] if default is not None else [None]}


def _not_all(filled: Mapping[str, Any]) -> Schema:
    return {"not": {"required": list(filled), "properties": dict(filled)}}
