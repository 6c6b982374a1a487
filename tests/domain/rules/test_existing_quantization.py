"""A quantized checkpoint is recognised before its download: passed through, or refused by name."""

from typing import Any

import pytest

from controlplane.domain.rules import examine
from controlplane.domain.rules.examples import LLAMA_8B, Example, facts

TYPE = "trt_llm.build.quantization_type"
H100 = {"resources.accelerator": "H100"}
VLLM = {**H100, "enginehouse.runtime": "vllm"}
TRTLLM = {**H100, "enginehouse.runtime": "trtllm"}
AGAIN, NOT_NATIVE, NOT_TRTLLM = "EH203", "EH654", "EH806"
_FLOAT8 = {"type": "float", "num_bits": 8}
FLOAT8 = {
    "g": {
        "weights": {**_FLOAT8, "strategy": "channel"},
        "input_activations": {**_FLOAT8, "strategy": "token", "dynamic": True},
    }
}
FLOAT8_BY_TENSOR = {
    "g": {
        "weights": {**_FLOAT8, "strategy": "tensor"},
        "input_activations": {**_FLOAT8, "strategy": "tensor", "dynamic": False},
    }
}
INT4 = {"g": {"weights": {"type": "int", "num_bits": 4}}}


def block(method: str, **more: Any) -> dict[str, Any]:
    return {"quant_method": method, **more}


METHODS: dict[str, tuple[dict[str, Any], set[str]]] = {
    "gptq": (block("gptq", bits=4), {NOT_NATIVE, NOT_TRTLLM}),
    "awq": (block("awq", bits=4), {NOT_NATIVE, NOT_TRTLLM}),
    "bitsandbytes": (block("bitsandbytes", load_in_4bit=True), {NOT_NATIVE, NOT_TRTLLM}),
    "bitsandbytes without its name": ({"load_in_8bit": True}, {NOT_NATIVE, NOT_TRTLLM}),
    "compressed-tensors FP8": (block("compressed-tensors", config_groups=FLOAT8), set()),
    "compressed-tensors FP8 by tensor": (
        block("compressed-tensors", config_groups=FLOAT8_BY_TENSOR),
        {NOT_TRTLLM},
    ),
    "compressed-tensors INT4": (
        block("compressed-tensors", config_groups=INT4),
        {NOT_NATIVE, NOT_TRTLLM},
    ),
    "fp8 in blocks": (block("fp8", weight_block_size=[128, 128]), set()),
    "fp8 in other blocks": (block("fp8", weight_block_size=[64, 64]), {NOT_NATIVE, NOT_TRTLLM}),
    "fp8 of Transformers": (block("fp8", activation_scheme="static"), {NOT_NATIVE}),
    "fbgemm_fp8": (block("fbgemm_fp8"), {NOT_NATIVE, NOT_TRTLLM}),
    "ModelOpt FP8": (block("modelopt", quant_algo="FP8"), set()),
    "ModelOpt NVFP4": (block("modelopt", quant_algo="NVFP4"), set()),
    "ModelOpt AWQ": (block("modelopt", quant_algo="W4A16_AWQ"), {NOT_NATIVE}),
    "mxfp4": (block("mxfp4"), {NOT_NATIVE}),
    "gguf": (block("gguf"), {NOT_NATIVE, NOT_TRTLLM}),
}
"""Method -> its block in config.json, and which runtimes' rules refuse it."""


def errors(config: dict[str, Any], checkpoint: Any) -> set[str]:
    example = Example(config=config, checkpoint=checkpoint)
    findings = examine(example.content, example.known).to_json()["findings"]
    about = {AGAIN, NOT_NATIVE, NOT_TRTLLM, "EH820"}
    return {each["code"] for each in findings if each["severity"] == "error"} & about


@pytest.mark.parametrize("name", METHODS)
def test_each_method_is_refused_for_a_second_quantization_on_every_runtime(name: str) -> None:
    quantized, _ = METHODS[name]
    checkpoint = LLAMA_8B.model_copy(
        update={"existing_quantization": facts(quantization_config=quantized).existing_quantization}
    )
    for config in ({TYPE: "fp8"}, {**H100, TYPE: "fp8_kv"}, {**VLLM, TYPE: "fp8"}):
        assert AGAIN in errors(config, checkpoint)


@pytest.mark.parametrize("name", METHODS)
def test_each_method_is_served_as_it_is_or_refused_by_the_runtime_that_cannot(name: str) -> None:
    quantized, refusing = METHODS[name]
    checkpoint = facts(quantization_config=quantized)
    assert errors({}, checkpoint) == refusing & {NOT_NATIVE}
    assert errors(TRTLLM, checkpoint) == refusing & {NOT_TRTLLM}
    assert errors(VLLM, checkpoint) == set()


@pytest.mark.parametrize(
    ("file", "method"), [("quantize_config.json", "gptq"), ("quant_config.json", "awq")]
)
def test_a_method_that_older_tools_kept_in_a_file_of_their_own_is_recognised(
    file: str, method: str
) -> None:
    from controlplane.domain.facts import checkpoints

    content = checkpoints.read({"model_type": "llama"}, files=["config.json", file])
    assert content.existing_quantization is not None
    assert content.existing_quantization.method == method
    assert checkpoints.read({}, files=["config.json"]).existing_quantization is None


def test_a_repository_of_gguf_files_is_refused_whatever_is_asked() -> None:
    checkpoint = LLAMA_8B.model_copy(update={"files": ("config.json", "model-q4_k_m.gguf")})
    for config in ({}, {TYPE: "fp8"}, H100, VLLM):
        assert "EH820" in errors(config, checkpoint)
