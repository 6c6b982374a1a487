"""What a checkpoint says of its own quantization that vLLM refuses."""

from typing import Any

import pytest

from controlplane.domain.facts.stored_blocks import is_of_mlx, unread_block

_INT4 = {"num_bits": 4, "type": "int", "strategy": "group", "group_size": 128, "symmetric": True}
_INT8 = {"num_bits": 8, "type": "int", "strategy": "channel", "symmetric": True}
_BY_TOKEN = {"num_bits": 8, "type": "int", "strategy": "token", "dynamic": True}
_NVFP4 = {"num_bits": 4, "type": "float", "strategy": "tensor_group", "group_size": 16}
_FP8_CACHE = {"num_bits": 8, "type": "float", "strategy": "tensor", "symmetric": True}


def _compressed(weights: Any, inputs: Any = None, **more: Any) -> dict[str, Any]:
    group = {"targets": ["Linear"], "weights": weights, "input_activations": inputs}
    return {"format": "pack-quantized", "config_groups": {"group_0": group}, **more}


def _quark(weights: str, inputs: str | None) -> dict[str, Any]:
    return {"weight": {"dtype": weights}, "input_tensors": inputs and {"dtype": inputs}}


def _exported(everywhere: dict[str, Any]) -> dict[str, Any]:
    return {"export": {"pack_method": "reorder"}, "global_quant_config": everywhere}


@pytest.mark.parametrize(
    ("method", "block", "words"),
    [
        ("compressed-tensors", _compressed(_INT4), None),
        ("compressed-tensors", _compressed(_INT4, kv_cache_scheme=_FP8_CACHE), None),
        ("compressed-tensors", _compressed(_NVFP4, _NVFP4), None),
        ("compressed-tensors", {"config_groups": [1], "transform_config": 3}, None),
        ("compressed-tensors", _compressed(_NVFP4, _BY_TOKEN), "beside inputs in INT8"),
        ("compressed_tensors", _compressed(_INT4, format="int-quantized"), "`int-quantized`"),
        (
            "compressed-tensors",
            _compressed(_INT4, kv_cache_scheme={**_FP8_CACHE, "type": "int"}),
            "KV cache in INT8",
        ),
        (
            "compressed-tensors",
            _compressed(_INT4, kv_cache_scheme={**_FP8_CACHE, "strategy": "channel"}),
            "by `channel`",
        ),
        (
            "compressed-tensors",
            _compressed(_INT4, kv_cache_scheme={**_FP8_CACHE, "symmetric": False}),
            "zero point",
        ),
        ("fp8", {"activation_scheme": "dynamic", "weight_block_size": [128, 128]}, None),
        ("fp8", {"activation_scheme": "static", "weight_block_size": [128, 128]}, "by blocks"),
        ("fp8", {"activation_scheme": "token"}, "`activation_scheme: token`"),
        ("fp8", {"weight_block_size": [128]}, "of 1 numbers"),
        ("auto-round", {"bits": 4, "packing_format": "auto_round:auto_gptq"}, None),
        ("auto-round", {"bits": 9}, "9 bits"),
        ("inc", {"bits": 4, "packing_format": "itrex"}, "`itrex`"),
        ("auto-round", {"bits": 4, "sym": False}, "zero points"),
        ("auto-round", {"bits": 4, "sym": False, "packing_format": "auto_round:auto_awq"}, None),
        ("auto-round", {"bits": 4, "sym": True, "group_size": 16}, "groups of 16"),
        ("auto-round", {"bits": 4, "backend": "auto_round:exllamav2"}, "`backend: auto_round:"),
        ("quark", {"export": {"pack_method": "reorder"}}, None),
        ("quark", {"global_quant_config": _quark("fp8_e4m3", "fp8_e4m3")}, "no `export`"),
        ("quark", _exported(_quark("fp8_e4m3", "fp8_e4m3")), None),
        ("quark", _exported(_quark("fp4", None)), None),
        ("quark", _exported(_quark("int8", None)), "beside inputs in 16 bits"),
        ("quark", _exported(_quark("int4", "int8")), "inputs of INT4"),
        ("modelopt", {"quant_algo": "MIXED_PRECISION"}, "which layer"),
        ("modelopt", {"quant_algo": "MIXED_PRECISION", "quantized_layers": {"a": {}}}, None),
        ("gptq", {"bits": 4}, None),
    ],
)
def test_what_no_loader_takes_is_told(method: str, block: Any, words: str | None) -> None:
    unread = unread_block(method, block).always
    assert unread is None if words is None else words in str(unread)


def test_integer_experts_want_scales_by_channel_and_token() -> None:
    assert unread_block("compressed-tensors", _compressed(_INT8, _BY_TOKEN)).of_experts is None
    by_tensor = _compressed({**_INT8, "strategy": "tensor"}, _BY_TOKEN)
    assert unread_block("compressed-tensors", by_tensor).of_experts is not None


def test_inputs_that_are_turned_while_it_runs_stay_on_one_rank() -> None:
    def turned(location: str) -> dict[str, Any]:
        applied = {"targets": ["Linear"], "location": location}
        return _compressed(_INT4, transform_config={"config_groups": {"R4": {"apply": [applied]}}})

    assert unread_block("compressed-tensors", turned("input")).over_ranks is not None
    assert unread_block("compressed-tensors", turned("weight_input")).over_ranks is None


def test_a_block_of_mlx_has_numbers_and_no_method() -> None:
    assert is_of_mlx({"group_size": 64, "bits": 4})
    assert is_of_mlx({"group_size": 64, "bits": 4, "model.layers.0.mlp.gate": {"bits": 8}})
    assert not is_of_mlx({"group_size": 128, "bits": 4, "zero_point": True, "version": "gemm"})
    assert not is_of_mlx({"bits": 4})


@pytest.mark.parametrize(
    ("method", "block", "since"),
    [
        ("auto-round", {"bits": 3}, "0.30"),
        ("auto-round", {"bits": 8}, None),
        ("auto-round", {"bits": 8, "data_type": "mx_fp"}, "0.27"),
        ("auto-round", {"bits": 8, "data_type": "fp"}, "0.29"),
        ("quark", _exported(_quark("uint4", None)), "0.31"),
    ],
)
def test_what_older_versions_refuse_is_told_with_the_first_that_reads_it(
    method: str, block: Any, since: str | None
) -> None:
    unread = unread_block(method, block)
    assert (unread.always, unread.since, bool(unread.until)) == (None, since, since is not None)
