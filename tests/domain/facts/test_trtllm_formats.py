"""Which stored formats TensorRT-LLM computes on which GPUs."""

from typing import Any

import pytest

from controlplane.domain.facts.gpus import GPUS
from controlplane.domain.facts.trtllm_formats import lacks_expert_kernels, lacks_format
from controlplane.domain.rules.examples import facts

_BLOCKS = {"quant_method": "fp8", "weight_block_size": [128, 128]}
_NVFP4 = {"quant_method": "modelopt", "quant_algo": "NVFP4"}
_INT4 = {
    "quant_method": "compressed-tensors", "format": "pack-quantized",
    "config_groups": {"group_0": {"weights": {"num_bits": 4, "type": "int", "group_size": 128}}},
}  # fmt: skip
_MXFP4 = {"quant_method": "mxfp4"}


def _compressed(bits: int, strategy: str, inputs: str | None) -> dict[str, Any]:
    weights = {"num_bits": bits, "type": "float", "strategy": strategy, "group_size": 16}
    beside = {"num_bits": bits, "type": "float", "strategy": inputs} if inputs else None
    group = {"weights": weights, "input_activations": beside}
    return {"quant_method": "compressed-tensors", "config_groups": {"group_0": group}}


@pytest.mark.parametrize(
    ("quantization", "experts", "kind", "lacks"),
    [
        (_BLOCKS, 128, "L40S", True),
        (_BLOCKS, 0, "L40S", False),
        (_BLOCKS, 128, "H100", False),
        (_BLOCKS, 128, "B200", False),
        (_BLOCKS, 0, "A100", True),
        (_NVFP4, 0, "H100", True),
        (_NVFP4, 0, "B200", False),
        (_MXFP4, 32, "H100", False),
        (None, 128, "A100", False),
        ({"quant_method": "quark"}, 0, "H100", True),
        ({"quant_method": "modelopt", "quant_algo": "W8A8_SQ_PER_CHANNEL"}, 0, "H100", True),
        ({"quant_method": "modelopt", "quant_algo": "W4A16_AWQ"}, 0, "A100", False),
        (_INT4, 0, "H100", True),
        ({"quant_method": "fp8", "activation_scheme": "static"}, 0, "H100", False),
        ({"quant_method": "fp8", "activation_scheme": "dynamic"}, 0, "H100", True),
        ({"quant_method": "fp8", "weight_block_size": [64, 64]}, 0, "H100", True),
        (_compressed(8, "channel", "token"), 0, "H100", False),
        (_compressed(8, "block", "group"), 0, "H100", False),
        (_compressed(8, "tensor", "tensor"), 0, "H100", True),
        (_compressed(8, "channel", None), 0, "H100", True),
        (_compressed(4, "tensor_group", "tensor_group"), 0, "B200", False),
        (_compressed(4, "tensor_group", None), 0, "B200", True),
    ],
)
def test_a_format_is_judged_by_gpu_and_by_experts(
    quantization: dict[str, Any] | None, experts: int, kind: str, lacks: bool
) -> None:
    given = {"quantization_config": quantization} if quantization else {}
    checkpoint = facts(num_experts=experts, moe_intermediate_size=768, **given)
    assert lacks_format(checkpoint, GPUS[kind]) is lacks


@pytest.mark.parametrize(
    ("name", "quantization", "kind", "lacks"),
    [
        ("TRTLLM", _BLOCKS, "H200", True),
        ("trtllm", _BLOCKS, "B300", False),
        ("TRTLLM", None, "H200", False),
        ("DEEPGEMM", _BLOCKS, "H100", True),
        ("DEEPGEMM", _BLOCKS, "RTX_PRO_6000", True),
        ("CUTLASS", _BLOCKS, "H100", False),
        (None, _BLOCKS, "H100", False),
    ],
)
def test_kernels_of_experts_are_made_for_some_gpus(
    name: str | None, quantization: dict[str, Any] | None, kind: str, lacks: bool
) -> None:
    given = {"quantization_config": quantization} if quantization else {}
    checkpoint = facts(num_experts=128, moe_intermediate_size=768, **given)
    assert lacks_expert_kernels(name, checkpoint, GPUS[kind]) is lacks
