"""The form has every setting of the schema, once, where its section is."""

import pytest

from apps.configs.editor import Draft
from apps.configs.form_settings import CARRIED, form_groups
from apps.configs.form_values import apply_changes
from controlplane.domain.config_reference.blocks import config_blocks
from controlplane.domain.spec import parse_text

TEXT = """\
model_name: small # ours
trt_llm:
  build:
    checkpoint_repository: {source: HF, repo: a/b}
"""
FIELDS = [field for group in form_groups() for field in (*group.fields, *group.more)]


def test_every_setting_of_the_reference_is_in_the_form_or_within_one_that_is() -> None:
    shown = {path for field in FIELDS for path in (field.path, field.v2) if path}
    missing = [
        field.path
        for block in config_blocks()
        for field in block.fields
        if "[]" not in field.path
        and not any(field.path == path or field.path.startswith(f"{path}.") for path in shown)
        and not any(path.startswith(f"{field.path}.") for path in shown)
    ]
    assert missing == []


def test_no_setting_is_in_the_form_twice() -> None:
    for stack in ("v1", "v2"):
        paths = [path for field in FIELDS if (path := field.path_in(stack))]
        assert len(paths) == len(set(paths))
    names = [field.name for field in FIELDS]
    assert len(names) == len(set(names))
    assert not any(" " in name for name in names)


@pytest.mark.parametrize(
    ("name", "typed", "written"),
    [
        ("trt_llm.build.speculator.lookahead_ngram_size", "8", "lookahead_ngram_size: 8"),
        ("enginehouse.gate.enabled", "off", "enabled: false"),
        ("enginehouse.extra_routes", "/tokenize, /score", "- /tokenize"),
        ("trt_llm.build.lora_adapters", '{"x": {"source": "HF", "repo": "c/d"}}', "repo: c/d"),
        ("weights", '[{"source": "hf://a/b"}]', "source: hf://a/b"),
    ],
)
def test_a_setting_that_few_name_is_written_where_the_schema_has_it(
    name: str, typed: str, written: str
) -> None:
    text = apply_changes(TEXT, {name}, {name: typed})
    assert written in text
    assert text.startswith("model_name: small # ours\n")
    assert apply_changes(text, {name}, {name: ""}).count("\n") < text.count("\n")


def test_what_a_config_names_is_open_and_the_rest_waits() -> None:
    text = apply_changes(
        TEXT,
        {"trt_llm.build.speculator.lookahead_ngram_size"},
        {"trt_llm.build.speculator.lookahead_ngram_size": "8"},
    )
    checked = {"findings": [], "waiting": [], "plan": None}
    groups = Draft(text=text, data=parse_text(text).data, checked=checked).groups
    is_open = {group.label: group.is_open for group in groups}
    assert is_open["Lookahead"]
    assert not is_open["Adapters"]
    assert not is_open[CARRIED]
