"""What holds an answer to a schema, an expression, some choices or a grammar."""

import json
from typing import Any

from workers.engine.errors import RequestRefused
from workers.engine.grammar import ANY_OBJECT, Grammar, Grammars
from workers.engine.server.fields import GenerationFields, ResponseFormat

KINDS = ("json", "regex", "choice", "grammar")


def compile_constraint(grammars: Grammars, fields: GenerationFields) -> Grammar | None:
    """Give back the one that the request asks for. Raises: `RequestRefused` for a second one."""
    asked = _asked(fields)
    names = [name for name, _, _ in asked]
    if fields.response_format is not None and fields.response_format.type != "text":
        names.append("response_format")
    if len(names) > 1:
        raise RequestRefused(
            f"`{names[0]}` and `{names[1]}` both hold the answer; send one.", field=names[1]
        )
    if not asked:
        return _from_response_format(grammars, fields.response_format)
    (field, kind, value), *_ = asked
    return _compile(grammars, kind, value, field)


def _asked(fields: GenerationFields) -> list[tuple[str, str, Any]]:
    """Field, kind and value of every constraint that goes by vLLM's names."""
    found = [(f"guided_{kind}", kind, getattr(fields, f"guided_{kind}")) for kind in KINDS]
    options = dict(fields.structured_outputs or {})
    if options.pop("json_object", None):
        found.append(("structured_outputs.json_object", "json", ANY_OBJECT))
    found += [(f"structured_outputs.{kind}", kind, options.pop(kind, None)) for kind in KINDS]
    unknown = [name for name, value in options.items() if value not in (None, False)]
    if unknown:
        raise RequestRefused(
            f"`structured_outputs.{unknown[0]}` is not supported; use one of {', '.join(KINDS)}.",
            field=f"structured_outputs.{unknown[0]}",
        )
    return [constraint for constraint in found if constraint[2] is not None]


def _compile(grammars: Grammars, kind: str, value: Any, field: str) -> Grammar:
    if kind == "json":
        return grammars.compile(_schema(value, field), field=field)
    if kind == "choice":
        if not isinstance(value, list) or not value or not all(type(one) is str for one in value):
            raise RequestRefused(f"`{field}` should be a list of texts.", field=field)
        return grammars.compile_choice(value, field=field)
    if not isinstance(value, str) or not value:
        raise RequestRefused(f"`{field}` should be a text.", field=field)
    if kind == "regex":
        return grammars.compile_regex(value, field=field)
    return grammars.compile_lark(value, field=field)


def _schema(value: Any, field: str) -> dict[str, Any]:
    try:
        schema = json.loads(value) if isinstance(value, str) else value
    except ValueError as error:
        raise RequestRefused(f"`{field}` is not JSON: {error}.", field=field) from None
    if not isinstance(schema, dict):
        raise RequestRefused(f"`{field}` should be a JSON schema.", field=field)
    return schema


def _from_response_format(grammars: Grammars, wanted: ResponseFormat | None) -> Grammar | None:
    match wanted.type if wanted else "text":
        case "text":
            return None
        case "json_object":
            return grammars.compile(ANY_OBJECT, field="response_format")
        case "json_schema" if wanted and wanted.json_schema:
            return grammars.compile(
                wanted.json_schema.schema_, field="response_format.json_schema.schema"
            )
        case "json_schema":
            raise RequestRefused(
                "`response_format` of type `json_schema` needs a `json_schema` with a `schema`.",
                field="response_format.json_schema",
            )
        case other:
            raise RequestRefused(
                f"`response_format.type` is `{other}`; the engine knows `text`, `json_object` "
                "and `json_schema`; expressions and grammars go in `structured_outputs`.",
                field="response_format.type",
            )
