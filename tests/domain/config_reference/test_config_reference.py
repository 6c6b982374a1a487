"""The config reference names every field, and says of each what the drivers do."""

from typing import Any

import pytest

from controlplane.domain.config_reference import config_blocks, write_reference
from controlplane.domain.config_reference.readers import not_told
from controlplane.domain.facts.gpus import GIB
from controlplane.domain.rules.catalogue import ALL_RULES
from controlplane.domain.rules.examples import LLAMA_8B, Example
from controlplane.domain.runtimes import native
from controlplane.domain.runtimes.launch import Launch
from controlplane.domain.spec import Spec, parse_mapping
from controlplane.domain.spec.engine_build import EngineBuild
from controlplane.domain.spec.engine_runtime import RuntimeV1, RuntimeV2
from controlplane.domain.spec.enginehouse_settings import EnginehouseSettings, Gate
from controlplane.domain.spec.resources import Resources
from controlplane.management.commands.write_config_reference import (
    REFERENCE,
    SCHEMA,
    schema_text,
)
from tests.domain.runtimes.engine_fields import LOOKAHEAD, PLACE, all_fields
from tests.domain.runtimes.golden import DRIVERS, launch_of

FIELDS = {field.anchor: field for block in config_blocks() for field in block.fields}
BY_ARTIFACT = {
    "trt_llm.build.base_model",
    "trt_llm.build.checkpoint_repository",
    "trt_llm.build.quantization_type",
}
"""What the artifact is, which an engine is told by its folder and by what follows from it."""
BY_PLAN = {"trt_llm.build.lora_configuration.lora_target_modules"}
"""What the memory plan counts, so that the share of the GPU changes that an engine is told."""
ADAPTERS = {
    "trt_llm.build.lora_adapters": {"x": PLACE},
    "trt_llm.build.lora_configuration": {"max_lora_rank": 16},
}
DRAFTS = {"trt_llm.build.speculator": LOOKAHEAD}


def test_the_documents_are_those_of_today() -> None:
    assert REFERENCE.read_text() == write_reference(), "run: manage.py write_config_reference"
    assert SCHEMA.read_text() == schema_text(), "run: manage.py write_config_reference"


@pytest.mark.parametrize(
    ("path", "model", "stack"),
    [
        ("", Spec, ""),
        ("trt_llm.build", EngineBuild, ""),
        ("trt_llm.runtime", RuntimeV1, "-v1"),
        ("trt_llm.runtime", RuntimeV2, "-v2"),
        ("resources", Resources, ""),
        ("enginehouse", EnginehouseSettings, ""),
        ("enginehouse.gate", Gate, ""),
    ],
)
def test_every_field_is_there_with_its_words(path: str, model: Any, stack: str) -> None:
    for name in model.model_fields:
        field = FIELDS[f"{path}.{name}{stack}".lstrip(".")]
        assert field.words
        assert field.kind
        assert field.read_by


def test_a_field_says_its_type_default_limits_and_rules() -> None:
    batch = FIELDS["trt_llm.build.max_batch_size"]
    assert (batch.kind, batch.default) == ("whole number", "256")
    assert batch.limits == "at least 1, at most 2,048"
    assert "EH434" in batch.rules
    assert FIELDS["trt_llm.build.quantization_type"].kind.startswith("`no_quant`, `fp8`")
    assert FIELDS["trt_llm.build.max_beam_width"].limits == "always 1"


def test_every_rule_stands_with_a_field() -> None:
    named = {code for field in FIELDS.values() for code in field.rules}
    assert named == {rule.code for rule in ALL_RULES}


@pytest.mark.parametrize("runtime", [*DRIVERS, "native"])
@pytest.mark.parametrize(("stack", "field", "value"), all_fields(), ids=lambda each: str(each)[:48])
def test_an_engine_is_told_a_field_where_the_reference_says_so(
    runtime: str, stack: str, field: str, value: Any
) -> None:
    if changes_the_launch(runtime, stack, field, value):
        assert not_told(field, runtime) == "" or field in BY_ARTIFACT | BY_PLAN


@pytest.mark.parametrize(("stack", "field", "value"), all_fields(), ids=lambda each: str(each)[:48])
def test_the_native_engine_is_told_whatever_the_reference_says(
    stack: str, field: str, value: Any
) -> None:
    if not_told(field, "native") == "":
        assert changes_the_launch("native", stack, field, value)


OF_DRAFTS = ("enginehouse.draft_factor", "enginehouse.undrafted_share")


def changes_the_launch(runtime: str, stack: str, field: str, value: Any) -> bool:
    beside = ADAPTERS if "lora_c" in field else DRAFTS if field in OF_DRAFTS else {}
    plain, changed = (
        words_of(runtime, spec_with(each, stack, on_gpu=runtime != "native"))
        for each in (beside, {**beside, field: value})
    )
    return plain != changed


def words_of(runtime: str, spec: Spec) -> tuple[Any, ...]:
    launch = native_launch(spec) if runtime == "native" else launch_of(runtime, spec)
    return launch.argv, dict(launch.files)


def native_launch(spec: Spec) -> Launch:
    return native.render.render(
        spec, LLAMA_8B, model_dir="/m", host="::1", port=1, python="p", threads=1,
        memory_bytes=40 * GIB,
    )  # fmt: skip


def spec_with(changes: dict[str, Any], stack: str, *, on_gpu: bool) -> Spec:
    base: dict[str, Any] = {"resources.accelerator": "H100:2"} if on_gpu else {}
    if stack == "v2":
        base |= {"trt_llm.inference_stack": "v2", "trt_llm.build.max_seq_len": None,
                 "trt_llm.runtime": {}}  # fmt: skip
    parsed = parse_mapping(Example(config={**base, **changes}).content)
    assert parsed.spec is not None, parsed.errors
    return parsed.spec
