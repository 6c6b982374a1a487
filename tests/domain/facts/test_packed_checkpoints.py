"""Checkpoints in packed integers that others made: which of them the native engine reads."""

from typing import Any

import pytest
import yaml

from controlplane.domain.facts.existing_quantization import read_quantization
from controlplane.domain.rules import examine
from controlplane.domain.rules.examples import Example, facts


def packed(**changes: Any) -> dict[str, Any]:
    weights = {"num_bits": 4, "type": "int", "symmetric": True, "strategy": "group",
               "group_size": 128, **changes}  # fmt: skip
    group = {"targets": ["Linear"], "weights": weights, "input_activations": None}
    return {
        "quant_method": "compressed-tensors", "format": "pack-quantized",
        "config_groups": {"group_0": group}, "ignore": ["lm_head"],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "algorithm", "is_read"),
    [
        ({}, "INT4", True),
        ({"actorder": "weight"}, "INT4", True),
        ({"symmetric": False}, "INT4_ASYMMETRIC", False),
        ({"actorder": "group"}, "INT4_REORDERED", False),
        ({"num_bits": 8}, "INT8", False),
    ],
)
def test_integers_around_zero_in_their_own_order_are_read(
    changes: dict[str, Any], algorithm: str, is_read: bool
) -> None:
    quantization = read_quantization({"quantization_config": packed(**changes)}, None)
    assert quantization is not None
    assert quantization.algorithm == algorithm
    checkpoint = facts(quantization_config=packed(**changes))
    example = Example(checkpoint=checkpoint)
    findings = examine(yaml.safe_dump(example.content), example.known).report.findings
    assert any(each.code == "EH654" for each in findings) is not is_read
    assert quantization.bytes_per_weight == pytest.approx(1.0 if algorithm == "INT8" else 0.53)
