"""What holds an answer to a schema, an expression, some choices or a grammar."""

import json
from typing import Any

from workers.engine.errors import RequestRefused
from workers.engine.grammar import ANY_OBJECT, Grammar, Grammars
from workers.engine.server.fields import GenerationFields, ResponseFormat

KINDS = ("json", "regex", "choice", "grammar")
SCHEMA_FIELD = "response_format.json_schema.schema"


def compile_constraint(grammars: Grammars, fields: GenerationFields) -> Grammar | None:
    """Give back the one that the request asks for. Raises: `RequestRefused` for a second one."""
    constraints = [*_by_vllm_names(fields), *_of_response_format(fields.response_format)]
    if len(constraints) > 1:
        first, second = (
            field.removesuffix(".json_schema.schema") for field, _, _ in constraints[:2]
        )
        raise RequestRefused(
            f"`{first}` and `{second}` both hold the answer; send one.", field=second
        )
    return _compile(grammars, *constraints[0]) if constraints else None


def _by_vllm_names(fields: GenerationFields) -> list[tuple[str, str, Any]]:
    """Field, kind and value of every constraint that goes by vLLM's names."""
    constraints = [(f"guided_{kind}", kind, getattr(fields, f"guided_{kind}")) for kind in KINDS]
    options = dict(fields.structured_outputs)
    if options.pop("json_object", None):
        constraints.append(("structured_outputs.json_object", "json", ANY_OBJECT))
    constraints += [(f"structured_outputs.{kind}", kind, options.pop(kind, None)) for kind in KINDS]
    unknown = [name for name, value in options.items() if value not in (None, False)]
    if unknown:
        raise RequestRefused(
            f"`structured_outputs.{unknown[0]}` is not supported; use one of {', '.join(KINDS)}.",
            field=f"structured_outputs.{unknown[0]}",
        )
    return [constraint for constraint in constraints if constraint[2] is not None]


def _of_response_format(response_format: ResponseFormat) -> list[tuple[str, str, Any]]:
    match response_format.type:
        case "text":
            return []
        case "json_object":
            return [("response_format", "json", ANY_OBJECT)]
        case "json_schema" if response_format.json_schema:
            return [(SCHEMA_FIELD, "json", response_format.json_schema.schema_)]
        case "json_schema":
            raise RequestRefused(
                "`response_format` of type `json_schema` needs a `json_schema` with a `schema`.",
                field="response_format.json_schema",
            )
    raise RequestRefused(
        f"`response_format.type` is `{response_format.type}`; the engine knows `text`, "
        "`json_object` and `json_schema`; expressions and grammars go in `structured_outputs`.",
        field="response_format.type",
    )


def _compile(grammars: Grammars, field: str, kind: str, value: Any) -> Grammar:
    match kind:
        case "json":
            return grammars.compile(_schema(value, field), field=field)
        case "choice" if isinstance(value, list) and value and all(type(e) is str for e in value):
            return grammars.compile_choice(value, field=field)
        case "regex" if isinstance(value, str) and value:
            return grammars.compile_regex(value, field=field)
        case "grammar" if isinstance(value, str) and value:
            return grammars.compile_lark(value, field=field)
    what = "a list of texts" if kind == "choice" else "a text"
    raise RequestRefused(f"`{field}` should be {what}, and not empty.", field=field)


def _schema(value: Any, field: str) -> dict[str, Any]:
    try:
        schema = json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError) as error:
        raise RequestRefused(f"`{field}` is not JSON: {error}.", field=field) from None
    if not isinstance(schema, dict):
        raise RequestRefused(f"`{field}` should be a JSON schema.", field=field)
    return schema
