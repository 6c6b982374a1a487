"""Experts that lie in one tensor see the inputs that a GPU would give them."""

import pytest
import torch
from torch import nn
from transformers import Qwen3MoeForCausalLM

from tests.tiny_families import FAMILIES, HIDDEN
from workers.build_steps.gating.experts import emulate_experts
from workers.engine.quantized import PlainCheckpoint
from workers.engine.rounding import FixedRounding, round_to_fp8

pytestmark = pytest.mark.engine


def test_inputs_of_fused_experts_are_rounded_before_both_products() -> None:
    torch.manual_seed(0)
    model = Qwen3MoeForCausalLM(FAMILIES["moe"].config()).eval()
    model.set_experts_implementation("eager")
    experts = model.model.layers[0].mlp.experts
    scales = {"gate_proj": torch.tensor(0.05), "down_proj": torch.tensor(0.01)}
    plain = PlainCheckpoint(
        weights={},
        roundings={
            f"model.layers.0.mlp.experts.{number}.{name}": FixedRounding(scale=scale, is_fp4=False)
            for name, scale in scales.items()
            for number in range(4)
        },
    )
    elsewhere = {"lm_head": FixedRounding(scale=torch.tensor(1.0), is_fp4=False)}
    plain.roundings.update(elsewhere)
    assert emulate_experts(model, plain).roundings == elsewhere
    hidden, chosen = torch.randn(3, HIDDEN), torch.tensor([[2], [2], [0]])
    outcome = experts(hidden, chosen, torch.ones(3, 1))

    rounded = round_to_fp8(hidden, scales["gate_proj"])
    for row, expert in enumerate(chosen[:, 0]):
        gate, up = (experts.gate_up_proj[expert] @ rounded[row]).chunk(2)
        inner = round_to_fp8(nn.functional.silu(gate) * up, scales["down_proj"])
        expected = experts.down_proj[expert] @ inner
        assert torch.allclose(outcome[row], expected, atol=1e-5)
