"""Attention of a row that decodes: the same numbers by either kernel."""

import pytest
import torch

from workers.engine.attention import AttentionRule, attend_one_query

KV_HEADS, GROUP, HEAD_DIM, LENGTH, SLOTS = 3, 2, 64, 40, 96
RULES = {
    "full": AttentionRule(scale=1.0),
    "window": AttentionRule(scale=1.0, window=8),
    "soft cap": AttentionRule(scale=1.0, soft_cap=2.0),
}


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_one_query_sees_what_plain_arithmetic_in_float64_makes_of_the_row(
    dtype: torch.dtype, rule: AttentionRule
) -> None:
    numbers = torch.Generator().manual_seed(7)
    query = torch.randn((KV_HEADS, GROUP, HEAD_DIM), generator=numbers).to(dtype)
    # A slice in the middle of a larger cache, as rows lie beside one another.
    keys, values = torch.randn((2, KV_HEADS, SLOTS, HEAD_DIM), generator=numbers).to(dtype)
    keys, values = keys[:, 16 : 16 + LENGTH], values[:, 16 : 16 + LENGTH]
    output = torch.full_like(query, torch.nan)
    attend_one_query(query, keys.mT, values, rule, output)
    torch.testing.assert_close(
        output.double(), _expected(query.double(), keys.double(), values.double(), rule),
        atol=1e-5 if dtype is torch.float32 else 3e-2, rtol=0,
    )  # fmt: skip


def _expected(
    query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, rule: AttentionRule
) -> torch.Tensor:
    seen = rule.window or LENGTH
    scores = query @ keys[:, -seen:].mT
    if rule.soft_cap is not None:
        scores = (scores / rule.soft_cap).tanh() * rule.soft_cap
    return scores.softmax(-1) @ values[:, -seen:]
