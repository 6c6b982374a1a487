"""Between the editor's form and the text: values read out of it, changes written into it."""

import json
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from apps.configs.form_fields import Field, Kind
from apps.configs.form_settings import form_groups
from controlplane.domain.dotted import value_at
from controlplane.domain.json_text import read_json
from controlplane.domain.spec.document import Document
from controlplane.domain.spec.edit import edit_yaml
from controlplane.domain.spec.text import read_text

_ON = "on"
_OFF = "off"


@cache
def form_field_names() -> Mapping[str, Field]:
    groups = form_groups()
    return {field.name: field for group in groups for field in (*group.fields, *group.more)}


def text_data(text: str) -> Mapping[str, Any] | None:
    if not text.strip():
        return {}
    document = read_text(text)
    data = document.data if isinstance(document, Document) else None
    return data if isinstance(data, Mapping) else None


def model_name_in(data: Mapping[str, Any] | None) -> str:
    name = (data or {}).get("model_name")
    return name.strip() if isinstance(name, str) else ""


def stack_of(data: Mapping[str, Any]) -> str:
    return "v2" if value_at(data, "trt_llm.inference_stack") == "v2" else "v1"


def field_text(data: Mapping[str, Any], field: Field) -> str:
    value = value_at(data, field.path_in(stack_of(data)))
    if value is None:
        return ""
    if isinstance(value, bool):
        return _ON if value else _OFF
    if field.kind is Kind.ACCELERATOR:
        return str(value).partition(":")[0]
    if field.kind in (Kind.MAPPING, Kind.JSON) and not isinstance(value, str):
        return json_or_text(value)
    if field.kind is Kind.NAMES and isinstance(value, list):
        return ", ".join(map(str, value))
    return str(value)


def json_or_text(value: Any) -> str:
    """Return a mapping as JSON; what YAML alone can say stays as it reads."""
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        return str(value)


def accelerator_count(data: Mapping[str, Any]) -> str:
    value = value_at(data, "resources.accelerator")
    return "" if value is None else str(value).partition(":")[2] or "1"


def apply_changes(text: str, changed: Iterable[str], given: Mapping[str, str]) -> str:
    """Return the text with the named form fields set to what was typed; the rest stays as it is."""
    names = set(changed)
    data = text_data(text) if names else None
    if data is None:
        return text
    patch = dict(_patch(data, names, given))
    return edit_yaml(text, patch) if patch else text


def _patch(
    data: Mapping[str, Any], changed: set[str], given: Mapping[str, str]
) -> Iterable[tuple[str, Any]]:
    if "accelerator_count" in changed:
        changed.add("accelerator")
    fields = form_field_names()
    for name in changed & fields.keys():
        field = fields[name]
        if path := field.path_in(stack_of(data)):
            yield path, _typed(field, given.get(name, "").strip(), given)


def _typed(field: Field, typed: str, given: Mapping[str, str]) -> Any:
    """Return the YAML value of what was typed; what does not fit goes in as text, for a finding."""
    if not typed:
        return None
    if field.kind is Kind.SWITCH:
        return typed == _ON
    if field.kind is Kind.NAMES:
        return [name for each in typed.split(",") if (name := each.strip())] or None
    if field.kind is Kind.ACCELERATOR:
        count = given.get("accelerator_count", "").strip() or "1"
        return typed if count == "1" else f"{typed}:{count}"
    if field.kind in (Kind.MAPPING, Kind.JSON):
        return _json_value(typed, field.kind)
    for number in {Kind.NUMBER: (int,), Kind.DECIMAL: (int, float)}.get(field.kind, ()):
        try:
            return number(typed)
        except ValueError:
            continue
    return typed


def _json_value(typed: str, kind: Kind) -> Any:
    try:
        value = read_json(typed)
    except ValueError:
        return typed
    return value if isinstance(value, dict) or kind is Kind.JSON else typed
