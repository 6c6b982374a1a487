"""What a quantized checkpoint declares, in ModelOpt's words and in nobody's."""

from typing import Any

import pytest

from controlplane.domain.facts.modelopt_declaration import unknown_word

WHOLE = {"quant_algo": "NVFP4", "kv_cache_quant_algo": None, "exclude_modules": ["lm_head"]}


@pytest.mark.parametrize(
    "quantization",
    [
        {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8"},
        {**WHOLE, "group_size": 16},
        {"quant_algo": None, "kv_cache_quant_algo": None},
        {"quant_algo": "fp8_pb_wo"},
        {**WHOLE, "has_zero_point": False, "pre_quant_scale": True, "group_size": 128},
        {
            "quant_algo": "MIXED_PRECISION",
            "quantized_layers": {"model.layers.0.mlp": {"quant_algo": "NVFP4", "group_size": 16}},
        },
    ],
)
def test_what_published_checkpoints_declare_is_known(quantization: dict[str, Any]) -> None:
    producer = {"name": "modelopt", "version": "0.23.0rc1"}
    assert unknown_word({"producer": producer, "quantization": quantization}) is None
    assert unknown_word({"quantization": quantization}) is None


FLAT = {
    "config_groups": {"group_0": {"targets": ["Linear"]}},
    "ignore": ["lm_head"],
    "kv_cache_scheme": {"dynamic": False, "num_bits": 8, "type": "float"},
    "producer": {"name": "modelopt", "version": "1.0.0"},
    "quant_algo": "FP8",
    "quant_method": "modelopt",
}


def test_the_form_of_config_json_is_known_in_this_file_too() -> None:
    assert unknown_word(FLAT) is None
    assert unknown_word({**FLAT, "weight_bits": 3}) == "weight_bits"
    layers = {"a.b": "FP8", "a.c": {"bits": 3}}
    assert unknown_word({**FLAT, "quantized_layers": layers}) == "quantized_layers.a.c.bits"


@pytest.mark.parametrize(
    ("declared", "name"),
    [
        ({"quantization": WHOLE, "weights": "int3"}, "weights"),
        ({"quantization": {**WHOLE, "weight_bits": 3}}, "quantization.weight_bits"),
        ({"quantization": {"quantized_layers": {"a.b": {"bits": 3}}}},
         "quantization.quantized_layers.a.b.bits"),
        ({"producer": {"name": "modelopt", "fork": "x"}}, "producer.fork"),
        ({"quantization": {**WHOLE, "quant_algo": "FP3"}}, "quantization.quant_algo: FP3"),
        ({"quantization": {**WHOLE, "quant_algo": {"a": 1}}}, "quantization.quant_algo: {'a': 1}"),
        ({"quantization": {**WHOLE, "kv_cache_quant_algo": "FP3"}},
         "quantization.kv_cache_quant_algo: FP3"),
        ({"quantization": {"quantized_layers": {"a.b": {"quant_algo": "FP3"}}}},
         "quantization.quantized_layers.a.b.quant_algo: FP3"),
        ({**FLAT, "quant_algo": "FP3"}, "quant_algo: FP3"),
    ],
)  # fmt: skip
def test_a_word_of_nobody_is_told_by_its_place(declared: dict[str, Any], name: str) -> None:
    assert unknown_word(declared) == name


@pytest.mark.parametrize("odd", [None, [], "FP8", 3])
def test_what_is_no_object_has_no_words(odd: Any) -> None:
    assert unknown_word({"quantization": odd, "producer": odd}) is None
