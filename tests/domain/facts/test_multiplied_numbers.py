"""Weights in integers that vLLM has no kernel for beside such activations, on some GPUs."""

from typing import Any

import pytest

from controlplane.domain.facts import checkpoints
from controlplane.domain.facts.gpus import GPUS
from controlplane.domain.facts.precision_support import stored_refusal
from controlplane.domain.runtimes.vllm.memory import MEMORY


def _refusal(gpu: str, weights: int, activations: tuple[int, str] | None) -> str | None:
    given: dict[str, Any] = {"weights": {"num_bits": weights, "type": "int", "strategy": "channel"}}
    if activations is not None:
        given["input_activations"] = {"num_bits": activations[0], "type": activations[1]}
    block = {"quant_method": "compressed-tensors", "config_groups": {"group_0": given}}
    config = {"architectures": ["LlamaForCausalLM"], "quantization_config": block}
    checkpoint = checkpoints.read(config, has_chat_template=True)
    return stored_refusal(checkpoint, GPUS[gpu], MEMORY.precisions)


@pytest.mark.parametrize(
    ("gpu", "weights", "activations"),
    [
        ("B200", 4, (8, "float")), ("L4", 4, (8, "float")), ("B200", 8, (8, "int")),
        ("RTX_PRO_6000", 8, (8, "int")), ("H100", 4, (8, "int")),
    ],
)  # fmt: skip
def test_numbers_without_a_kernel_are_refused(
    gpu: str, weights: int, activations: tuple[int, str]
) -> None:
    assert "kernel on" in (_refusal(gpu, weights, activations) or "")


@pytest.mark.parametrize(
    ("gpu", "weights", "activations"),
    [
        ("H100", 4, (8, "float")), ("T4", 8, (8, "int")), ("H100", 8, (8, "int")),
        ("B200", 4, None), ("B200", 8, None),
    ],
)  # fmt: skip
def test_others_are_not(gpu: str, weights: int, activations: tuple[int, str] | None) -> None:
    assert _refusal(gpu, weights, activations) is None
