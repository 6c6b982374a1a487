"""Writing a spec back, storing it, and changing the user's own text."""

import json

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from controlplane.domain.spec import Spec, parse_text, write_yaml
from controlplane.domain.spec.document import Document
from controlplane.domain.spec.edit import UneditableTextError, edit_yaml
from controlplane.domain.spec.patch import patched
from controlplane.domain.spec.text import read_text
from tests.domain.configs import configs
from tests.examples import examples


def _parse(text: str) -> Spec:
    result = parse_text(text)
    assert result.spec is not None, result.errors
    return result.spec


def test_a_written_spec_parses_to_itself(llama_text: str) -> None:
    spec = _parse(llama_text)
    assert _parse(write_yaml(spec)) == spec


@examples(60)
@given(configs())
def test_parse_write_parse_is_identity(config: dict[str, object]) -> None:
    spec = _parse(json.dumps(config))
    again = _parse(write_yaml(spec))
    assert again == spec
    assert again.max_num_tokens == spec.max_num_tokens
    assert again.gives_batch_size == spec.gives_batch_size


@examples(40)
@given(configs())
def test_a_stored_spec_comes_back_with_its_meaning(config: dict[str, object]) -> None:
    spec = _parse(json.dumps(config))
    stored = json.loads(json.dumps(spec.model_dump(mode="json")))
    back = Spec.model_validate(stored)
    assert back == spec
    assert back.max_num_tokens == spec.max_num_tokens
    assert back.gives_batch_size == spec.gives_batch_size
    assert _parse(write_yaml(back)) == spec


def test_an_encoder_without_a_limit_keeps_its_own_default_when_stored() -> None:
    text = "trt_llm: {build: {base_model: encoder, checkpoint_repository: {source: HF, repo: a/b}}}"
    spec = _parse(text)
    assert spec.max_num_tokens == 16_384
    assert Spec.model_validate(spec.model_dump(mode="json")).max_num_tokens == 16_384
    explicit = _parse(text.replace("encoder,", "encoder, max_num_tokens: 8192,"))
    assert Spec.model_validate(explicit.model_dump(mode="json")).max_num_tokens == 8192


def test_an_edit_keeps_comments_and_order(llama_text: str) -> None:
    edited = edit_yaml(
        llama_text,
        {
            "trt_llm.build.quantization_type": "no_quant",
            "trt_llm.runtime.served_model_name": None,
            "enginehouse.pool": "a",
            "secrets": {"hf_access_token": None, "other": None},
        },
    )
    assert "# A 70B model on four GPUs" in edited
    assert "accelerator: H100:4  # 4 GPUs" in edited
    assert edited.index("resources:") < edited.index("trt_llm:") < edited.index("secrets:")
    spec = _parse(edited)
    assert spec.quantization_type == "no_quant"
    assert spec.served_model_name is None
    assert spec.pool == "a"
    assert spec.secrets == {"hf_access_token": None, "other": None}


@pytest.mark.parametrize("value", ["yes", "on", "010", "1:30", "1e3", "null", "~", "0x1F", "", "a"])
def test_text_that_looks_like_something_else_stays_text(llama_text: str, value: str) -> None:
    edited = edit_yaml(llama_text, {"model_name": value, "environment_variables.A": value})
    spec = _parse(edited)
    assert spec.model_name == value
    assert spec.environment_variables == {"A": value}


@examples(50)
@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=30))
def test_any_text_survives_an_edit(value: str) -> None:
    base = "trt_llm: {build: {checkpoint_repository: {source: HF, repo: a/b}}}\n"
    assert _parse(edit_yaml(base, {"description": value})).description == value


def test_names_with_dots_are_found() -> None:
    text = (
        "trt_llm:\n  build:\n    checkpoint_repository: {source: HF, repo: a/b}\n"
        "    lora_adapters:\n      my.adapter: {source: HF, repo: c/d}\n"
    )
    edited = edit_yaml(text, {"trt_llm.build.lora_adapters.my.adapter.repo": "e/f"})
    adapters = _parse(edited).engine_build.lora_adapters
    assert adapters is not None
    assert adapters["my.adapter"].repo == "e/f"


def test_an_empty_text_can_be_edited_and_a_list_cannot() -> None:
    assert edit_yaml("", {"model_name": "a"}) == "model_name: a\n"
    with pytest.raises(UneditableTextError):
        edit_yaml("- a\n", {"model_name": "a"})
    with pytest.raises(UneditableTextError):
        edit_yaml("a: [\n", {"model_name": "a"})


@pytest.mark.parametrize(
    "text",
    [
        "a:\n- x  # one\n- y\nb:\n  c: 1\n",
        "a:\n    - x\n    - y\nb:\n    c: 1  # four\n",
        "# head\na:\n  - x\nb: {c: 1, d: [1, 2]}\n\n\n# tail\n",
        "a: 'quoted'\nb:\n  c: \"double\"\n  d: |\n    block\n    text\n",
    ],
)
def test_what_is_not_edited_stays_as_it_was(text: str) -> None:
    assert edit_yaml(text, {"z": 1, "b.c": 2}).replace("\nz: 1\n", "\n").replace(
        "c: 2", "c: 1"
    ) in (text, text.replace('"double"', "1"))


_REST = "trt_llm:\n  build:\n    checkpoint_repository: {source: HF, repo: a/b}\n"


@pytest.mark.parametrize(
    "line",
    [
        "description: 1e999",
        "description: 2026-11-29",
        "description: 2026-11-29T10:00:00Z",
        "description: 0o17",
        "model_metadata: {count: +1, share: 1_000, is_on: yes, nothing: ~}",
        "model_metadata: {none: , list: [+1, .5, 0x1F]}",
        "model_name:\tx",
        "model_name: \t x",
        "model_metadata:",
        "model_name: !!str 5",
    ],
)
def test_values_that_an_edit_does_not_touch_are_written_as_they_were(line: str) -> None:
    text = f"{line}\n{_REST}"
    edited = edit_yaml(text, {"trt_llm.build.max_seq_len": 512, "resources.accelerator": "L4"})
    kept = edited.replace("    max_seq_len: 512\n", "").replace(
        "resources:\n  accelerator: L4\n", ""
    )
    assert kept == text


_SHARED = "x: &shared\n  b: 1  # one\n  e: {f: 2}\nc:\n  <<: *shared\n  z: 2\ng: *shared\n"


@pytest.mark.parametrize(
    "patch",
    [
        {"x.b": 9},
        {"x.e.f": 9},
        {"c.b": 9},
        {"c.b": None},
        {"c.e.f": 9},
        {"c.e": None},
        {"g.b": 9},
        {"g.b": None},
        {"x": None},
        {"g": {"b": 2}, "c.z": None},
        {"x.b": 1, "g.e.f": 3},
    ],
    ids=str,
)
def test_an_edit_changes_one_place_of_a_block_that_several_share(patch: dict[str, object]) -> None:
    before = read_text(_SHARED)
    after = read_text(edit_yaml(_SHARED, patch))
    assert isinstance(before, Document)
    assert isinstance(after, Document)
    assert after.data == patched(before.data, patch)


def test_a_block_that_nothing_else_shares_keeps_its_anchor() -> None:
    assert edit_yaml("a: &kept\n  b: 1\n", {"a.b": 2}) == "a: &kept\n  b: 2\n"


_paths = st.sampled_from(
    ["model_name", "resources.accelerator", "trt_llm.build.max_seq_len", "secrets", "description",
     "trt_llm.build.lora_adapters", "model_metadata.tags", "enginehouse.runtime"]
)  # fmt: skip
_values = st.one_of(
    st.none(), st.integers(), st.booleans(), st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=12),
    st.lists(st.integers(), max_size=2), st.dictionaries(st.sampled_from("abc"), st.none()),
)  # fmt: skip


@examples(100)
@given(configs(), st.dictionaries(_paths, _values, max_size=4), st.booleans())
def test_editing_text_and_editing_what_it_says_agree(
    config: dict[str, object], patch: dict[str, object], as_json: bool
) -> None:
    text = json.dumps(config) if as_json else yaml.safe_dump(config, allow_unicode=True)
    edited = read_text(edit_yaml(text, patch))
    assert isinstance(edited, Document)
    assert edited.data == patched(config, patch)
