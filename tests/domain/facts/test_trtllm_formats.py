"""Which stored formats TensorRT-LLM computes on which GPUs."""

from typing import Any

import pytest

from controlplane.domain.facts.gpus import GPUS
from controlplane.domain.facts.trtllm_formats import lacks_format
from controlplane.domain.rules.examples import facts

_BLOCKS = {"quant_method": "fp8", "weight_block_size": [128, 128]}
_NVFP4 = {"quant_method": "modelopt", "quant_algo": "NVFP4"}
_MXFP4 = {"quant_method": "mxfp4"}


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
    ],
)
def test_a_format_is_judged_by_gpu_and_by_experts(
    quantization: dict[str, Any] | None, experts: int, kind: str, lacks: bool
) -> None:
    given = {"quantization_config": quantization} if quantization else {}
    checkpoint = facts(num_experts=experts, moe_intermediate_size=768, **given)
    assert lacks_format(checkpoint, GPUS[kind]) is lacks
