"""A checkpoint that comes quantized, by the words of each method."""

from typing import Any

import pytest

from controlplane.domain.facts import checkpoints
from controlplane.domain.facts.existing_quantization import ExistingQuantization
from tests.domain.facts.test_checkpoints import LLAMA

FLOAT = {"type": "float"}


def _read(block: dict[str, Any], exported: dict[str, Any] | None = None) -> ExistingQuantization:
    existing_quantization = checkpoints.read(
        {**LLAMA, "quantization_config": block},
        hf_quant_config={"quantization": exported} if exported else None,
    ).existing_quantization
    assert existing_quantization is not None
    return existing_quantization


@pytest.mark.parametrize(
    ("block", "algorithm", "size", "cache"),
    [
        ({"quant_method": "gptq", "bits": 4}, None, 0.53, None),
        ({"quant_method": "awq", "bits": 4}, None, 0.53, None),
        ({"quant_method": "fp8", "weight_block_size": [128, 128]}, None, 1.0, None),
        ({"quant_method": "mxfp4"}, None, 0.53125, None),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True}, None, 0.53, None),
        ({"quant_method": "bitsandbytes", "load_in_8bit": True}, None, 1.0, None),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4",
          "kv_cache_scheme": {"num_bits": 8, "type": "float"}}, "NVFP4", 0.5625, "FP8"),
        ({"quant_algo": "FP8"}, "FP8", 1.0, None),
        ({"quant_method": "compressed-tensors",
          "config_groups": {"g": {"weights": {"num_bits": 4, "type": "int", "group_size": 128}}}},
         "INT4", 0.53, None),
        ({"quant_method": "compressed-tensors",
          "config_groups": {"g": {"weights": {"num_bits": 4, "type": "int"}}}}, "INT4_BY_TENSOR",
         0.53, None),
        ({"quant_method": "compressed-tensors",
          "config_groups": {"g": {"weights": {"num_bits": 8, **FLOAT}}}}, "FP8", 1.0, None),
    ],
)  # fmt: skip
def test_each_method_says_its_bytes_and_its_cache(
    block: dict[str, Any], algorithm: str | None, size: float, cache: str | None
) -> None:
    content = _read(block)
    assert (content.algorithm, content.kv_cache) == (algorithm, cache)
    assert content.bytes_per_weight == pytest.approx(size, rel=0.01)


@pytest.mark.parametrize(
    ("left_out", "attention", "shared"),
    [
        (["lm_head", "model.layers.0.self_attn*"], True, False),
        (["re:.*self_attn.*", "re:.*shared_experts.*"], True, True),
        (["model.layers.0.post_attention_layernorm", "model.layers.0.mlp.gate"], False, False),
        (["model.layers.0.self_attn.indexer.k_norm"], False, False),
        (["model.layers.0.self_attn.q_a_proj", "model.layers.0.self_attn.o_proj"], True, False),
    ],
)
def test_what_is_left_out_stays_in_sixteen_bits(
    left_out: list[str], attention: bool, shared: bool
) -> None:
    content = _read({"quant_method": "modelopt", "quant_algo": "NVFP4", "ignore": left_out})
    assert (content.keeps_attention, content.keeps_mlp) == (attention, shared)


def test_a_mixture_counts_by_what_most_of_its_experts_have() -> None:
    layers = {f"layers.{number}.mlp.experts": {"quant_algo": "NVFP4"} for number in range(4)}
    layers["layers.0.self_attn.q_proj"] = {"quant_algo": "FP8"}
    content = _read({}, {"quant_algo": "MIXED_PRECISION", "quantized_layers": layers})
    assert content.algorithm == "MIXED_PRECISION"
    assert content.bytes_per_weight == 0.5625
    assert content.is_fp4


def test_packed_numbers_of_the_headers_are_not_taken_for_parameters() -> None:
    packed = {**LLAMA, "quantization_config": {"quant_method": "modelopt", "quant_algo": "NVFP4"}}
    facts = checkpoints.read(packed, parameters=71_000_000, weight_bytes=120_000_000)
    assert facts.parameters == 134_515_008
    assert facts.stored_weight_bytes == 120_000_000


def test_count_and_headers_are_both_told_where_they_disagree() -> None:
    counted = checkpoints.read(LLAMA).counted_weight_bytes
    assert counted == 269_030_016
    same = checkpoints.read(LLAMA, weight_bytes=counted, parameters=134_515_008)
    other = checkpoints.read(LLAMA, weight_bytes=2 * counted, parameters=134_515_008)
    assert not same.weights_disagree
    assert other.weights_disagree
    assert other.counted_weight_bytes == counted


def test_a_file_of_modelopt_in_the_form_of_config_json_is_read_where_that_says_nothing() -> None:
    flat = {"quant_method": "modelopt", "quant_algo": "NVFP4", "ignore": ["lm_head"]}
    existing_quantization = checkpoints.read(LLAMA, hf_quant_config=flat).existing_quantization
    assert existing_quantization is not None
    assert (
        existing_quantization.method,
        existing_quantization.algorithm,
        existing_quantization.is_fp4,
    ) == ("modelopt", "NVFP4", True)


@pytest.mark.parametrize(
    ("algorithms", "is_read"),
    [(("FP8", "NVFP4"), True), (("FP8", "W4A16_NVFP4"), False), (("NVFP4",), False)],
)
def test_a_mixture_is_of_fp8_and_fp4_or_another(algorithms: tuple[str, ...], is_read: bool) -> None:
    layers = {f"model.layers.{place}.mlp.up_proj": {"quant_algo": each}
              for place, each in enumerate(algorithms)}  # fmt: skip
    declared = {"quant_algo": "MIXED_PRECISION", "quantized_layers": layers}
    for outcome in (_read({}, declared), _read({"quant_method": "modelopt", **declared})):
        assert outcome.layer_algorithms == tuple(sorted(algorithms))
        assert outcome.mixes_fp8_and_fp4 == is_read
