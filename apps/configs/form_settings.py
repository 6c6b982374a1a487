"""Every other setting of the config's schema as a field of the form, by section.

`form_fields` words those that most configs name; whatever the schema has besides is made from it
here, so that no setting is without a place and no list has to be kept.
"""

from collections import deque
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from apps.configs.form_fields import GROUPS, Field, Group, Kind
from controlplane.domain.config_reference.kinds import default_of, limits_of, target_of
from controlplane.domain.runtimes import RUNTIMES
from controlplane.domain.spec.json_schema import field_schema

Schema = Mapping[str, Any]
_SECTIONS = (
    ("trt_llm.build.speculator", "Lookahead"),
    ("trt_llm.build.lora", "Adapters"),
    ("trt_llm.runtime.lora", "Adapters"),
    ("trt_llm.build.quantization", "Precision"),
    ("trt_llm.build.plugin_configuration", "Attention"),
    ("trt_llm.build", "Engine"),
    ("trt_llm.runtime", "Serving"),
    ("trt_llm", "Engine"),
    ("enginehouse.gate", "Quality gate"),
    ("enginehouse.calibration", "Precision"),
    ("enginehouse", "Enginehouse"),
    ("resources", "Hardware"),
    ("secrets", "Secrets"),
)
"""Beginning of a path -> where the setting stands; the first that fits."""
CARRIED = "Carried along"
"""What the hosted product's container reads and nothing here does."""
_NAMES = {"kv": "KV", "gpu": "GPU", "gpus": "GPUs", "lora": "LoRA", "fp8": "FP8", "fmha": "FMHA",
          "cpu": "CPU", "moe": "MoE", "mem": "memory", "hf": "HF",
          **{each.name: each.title for each in RUNTIMES.values()}}  # fmt: skip
_KINDS = {
    "boolean": Kind.SWITCH,
    "integer": Kind.NUMBER,
    "number": Kind.DECIMAL,
    "string": Kind.TEXT,
}
_STACKS = {"RuntimeV1": "v1", "RuntimeV2": "v2"}
_ENGINE = "trt_llm"
_OPAQUE = frozenset({"Accelerator"})


@cache
def form_groups() -> tuple[Group, ...]:
    """Return the groups of the form: the worded settings of each first, then all others."""
    known = {path for group in GROUPS for field in group.fields for path in (field.path, field.v2)}
    fields_of: dict[str, list[Field]] = {group.label: [] for group in GROUPS}
    for field in _settings():
        if not {field.path, field.v2} & known - {None, ""}:
            fields_of.setdefault(_section(field.path or field.v2 or ""), []).append(field)
    carried = fields_of.pop(CARRIED, [])
    worded = {group.label: group.fields for group in GROUPS}
    labels = dict.fromkeys([*worded, *(label for _, label in _SECTIONS)])
    groups = (
        Group(label=label, fields=worded.get(label, ()), more=tuple(fields_of.get(label, ())))
        for label in labels
        if label in fields_of
    )
    return (*groups, Group(label=CARRIED, fields=(), more=tuple(carried)))


def _section(path: str) -> str:
    return next((label for start, label in _SECTIONS if path.startswith(start)), CARRIED)


def _settings() -> Iterator[Field]:
    """Yield every setting of the schema, those of both stacks; a block that is used twice is a
    block once, where its path is shortest, and JSON elsewhere."""
    schema = field_schema()
    definitions: Schema = schema["definitions"]
    waiting: deque[tuple[str, Schema, str]] = deque([("", schema, "")])
    entered: set[str] = set()
    while waiting:
        path, block, stack = waiting.popleft()
        for name, node in block["properties"].items():
            full = f"{path}.{name}".lstrip(".")
            target = "TrtLlmV1" if full == _ENGINE else _block_of(node, definitions)
            if not target or target in entered:
                yield _field(full, node, definitions, stack)
                continue
            entered.add(target)
            waiting.append((full, definitions[target], stack or _STACKS.get(target, "")))
            if target == "RuntimeV1":
                waiting.append((full, definitions["RuntimeV2"], "v2"))


def _block_of(node: Schema, definitions: Schema) -> str:
    """Return the block that a setting is, empty for a value, a list or a mapping of names."""
    target, suffix = target_of(node)
    is_block = target and not suffix and "properties" in definitions[target]
    return str(target) if is_block and target not in _OPAQUE else ""


def _field(path: str, node: Schema, definitions: Schema, stack: str) -> Field:
    limits = limits_of(node)
    help_text = f"{node['description']}{f' ({limits})' if limits else ''}"
    kind, choices = _kind(node, definitions)
    default = default_of(node)
    if kind is Kind.SWITCH:
        default = "on" if default == "true" else "off" if default == "false" else ""
    return Field(
        name=f"{path}:{stack}" if stack == "v2" else path,
        label=_label(path),
        path="" if stack == "v2" else path,
        v2=path if stack == "v2" else "" if stack == "v1" else None,
        kind=kind,
        help=help_text,
        default=default,
        choices=choices,
        is_wide=kind is Kind.JSON,
    )


def _kind(node: Schema, definitions: Schema) -> tuple[Kind, tuple[str, ...]]:
    ways = [way for way in node.get("anyOf", (node,)) if way.get("type") != "null"]
    if len(ways) != 1:
        return Kind.JSON, ()
    (way,) = ways
    if "$ref" in way:
        way = definitions[way["$ref"].rpartition("/")[2]]
    if "enum" in way:
        return Kind.CHOICE, tuple(map(str, way["enum"]))
    if way.get("type") == "boolean":
        return Kind.SWITCH, ("on", "off")
    if way.get("type") == "array" and way.get("items", {}).get("type") == "string":
        return Kind.NAMES, ()
    return _KINDS.get(way.get("type", ""), Kind.JSON), ()


def _label(path: str) -> str:
    """Return the name of a setting as a label: `num_draft_tokens` is `Num draft tokens`."""
    words = " ".join(_NAMES.get(word, word) for word in path.rpartition(".")[2].split("_"))
    return words[:1].upper() + words[1:]
