"""Arguments and types that vLLM refuses for a model, and versions that lack its class."""

from typing import Any

import pytest

from controlplane.domain.rules import examine
from controlplane.domain.rules.examples import LLAMA_8B, Example, facts
from controlplane.domain.rules.serving.engine_arguments import v2_example

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


@pytest.mark.parametrize(
    ("gpu", "arguments", "is_refused"),
    [
        ("A100", {}, True),
        ("A100", {"attention-backend": "FLASHINFER"}, False),
        ("A100", {"attention-backend": "TRITON_ATTN"}, True),
        ("T4", {"attention-backend": "FLASHINFER"}, True),
        ("H100", {}, False),
    ],
)
def test_flashinfer_takes_fp8_keys_and_values_on_ampere(
    gpu: str, arguments: dict[str, Any], is_refused: bool
) -> None:
    asked = v2_example({"kv_cache_config": {"dtype": "fp8"}})
    config = {**asked.config, "resources.accelerator": gpu, _ARGUMENTS: arguments}
    assert ("EH663" in codes(config, LLAMA_8B, "0.25.1")) is is_refused


_BLOCK_STRUCTURE = {
    "quant_method": "compressed-tensors", "format": "float-quantized",
    "config_groups": {
        "group_0": {
            "targets": ["Linear"],
            "weights": {"num_bits": 8, "type": "float", "strategy": "block",
                        "block_structure": [128, 128], "symmetric": True},
            "input_activations": {"num_bits": 8, "type": "float", "strategy": "group",
                                  "group_size": 128, "dynamic": True, "symmetric": True},
        }
    },
}  # fmt: skip


@pytest.mark.parametrize(
    ("model_type", "width", "expert", "ranks", "expected"),
    [
        ("deepseek_v2", 10_944, 1408, 1, {"EH326"}),
        ("deepseek_v2", 10_944, 1408, 2, {"EH320"}),  # 704 rows of each expert: one cause is said
        ("deepseek_v2", 11_008, 1408, 1, set()),
        ("qwen3_moe", 10_944, 1408, 1, set()),  # no layer of it has a plain MLP
        ("qwen3_moe", 6144, 1400, 1, {"EH326"}),
    ],
)
def test_stacked_mlps_begin_with_a_block_of_scales(
    model_type: str, width: int, expert: int, ranks: int, expected: set[str]
) -> None:
    checkpoint = facts(
        architectures=["DeepseekV2ForCausalLM"], model_type=model_type, hidden_size=2048,
        num_hidden_layers=27, num_attention_heads=16, num_key_value_heads=16,
        intermediate_size=width, moe_intermediate_size=expert, n_routed_experts=64,
        num_experts_per_tok=6, vocab_size=102_400, max_position_embeddings=163_840,
        kv_lora_rank=512, qk_rope_head_dim=64, quantization_config=_BLOCK_STRUCTURE,
    )  # fmt: skip
    config = {
        "resources.accelerator": f"H100:{ranks}", "trt_llm.build.tensor_parallel_count": ranks,
    }  # fmt: skip
    assert codes(config, checkpoint, "0.25.1") & {"EH320", "EH326"} == expected
