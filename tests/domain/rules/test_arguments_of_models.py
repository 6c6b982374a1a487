"""Arguments and types that vLLM refuses for a model, and versions that lack its class."""

from typing import Any

import pytest

from controlplane.domain.rules import examine
from controlplane.domain.rules.examples import LLAMA_8B, Example, facts

_ARGUMENTS = "enginehouse.vllm_args"
_SEES = facts(
    architectures=["Qwen3VLForConditionalGeneration"], model_type="qwen3_vl",
    vision_config={"hidden_size": 1152, "num_heads": 16, "depth": 27, "intermediate_size": 4304},
)  # fmt: skip
_TEXT_ALONE = {
    "language-model-only": True, "compilation-config": {"cudagraph_mm_encoder": True},
}  # fmt: skip
_NGRAMS = facts(architectures=["Qwen4ExpForCausalLM"], model_type="qwen4_exp")


def codes(config: dict[str, Any], checkpoint: Any, version: str, runtime: str = "vllm") -> set[str]:
    example = Example(
        config={"resources.accelerator": "H100", "enginehouse.runtime": runtime, **config},
        checkpoint=checkpoint,
        versions=frozenset({(runtime, version)}),
    )
    return {each.code for each in examine(example.content, example.known).report.findings}


@pytest.mark.parametrize(
    ("arguments", "checkpoint", "version", "is_refused"),
    [
        (_TEXT_ALONE, _SEES, "0.29.0", True),
        (_TEXT_ALONE, _SEES, "0.28.0", False),
        (_TEXT_ALONE, LLAMA_8B, "0.29.0", False),
        ({"language-model-only": True}, _SEES, "0.29.0", False),
        ({"engram-config": {"cpu_offload": True}}, LLAMA_8B, "0.31.0", True),
        ({"engram-config": {"cpu_offload": True}}, _NGRAMS, "0.31.0", False),
    ],
)
def test_arguments_that_a_model_has_no_use_for_are_refused(
    arguments: dict[str, Any], checkpoint: Any, version: str, is_refused: bool
) -> None:
    assert ("EH698" in codes({_ARGUMENTS: arguments}, checkpoint, version)) is is_refused


@pytest.mark.parametrize(("version", "is_refused"), [("0.25.1", True), ("0.30.0", False)])
def test_other_bits_of_auto_round_are_refused_by_the_versions_that_do_not_read_them(
    version: str, is_refused: bool
) -> None:
    block = {"quant_method": "auto-round", "bits": 3, "group_size": 128, "sym": True}
    found = codes({}, facts(quantization_config=block), version)
    assert ("EH837" in found) is is_refused


@pytest.mark.parametrize(
    ("rope", "is_refused"),
    [
        ({"type": "mrope"}, True),
        ({"type": "mrope", "mrope_section": [16, 24, 24]}, False),
        ({"type": "mrope", "rope_type": "default"}, False),
    ],
)
def test_positions_in_sections_name_their_sections(rope: dict[str, Any], is_refused: bool) -> None:
    assert ("EH668" in codes({}, facts(rope_scaling=rope), "0.33.0")) is is_refused


@pytest.mark.parametrize(("version", "is_refused"), [("1.2.0", True), ("1.3.0", False)])
def test_a_class_of_a_later_tensorrt_llm_is_refused_by_the_earlier(
    version: str, is_refused: bool
) -> None:
    gemma = facts(architectures=["Gemma4ForConditionalGeneration"], model_type="gemma4")
    assert ("EH669" in codes({}, gemma, version, "trtllm")) is is_refused
