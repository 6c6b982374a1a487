"""One fault is one error, whichever table a rule reads."""

from typing import Any

import pytest

from controlplane.domain.rules import examine
from controlplane.domain.rules.examples import Example, facts
from controlplane.domain.rules.rule import Severity

STORED: dict[str, dict[str, Any]] = {
    "compressed-tensors": {
        "quant_method": "compressed-tensors",
        "config_groups": {"group_0": {"weights": {"num_bits": 8, "type": "float"}}},
    },
    "fp8": {"quant_method": "fp8"},
    "modelopt": {"quant_method": "modelopt", "quant_algo": "FP8"},
    "nvfp4": {"quant_method": "modelopt", "quant_algo": "NVFP4"},
    "mxfp4": {"quant_method": "mxfp4"},
}
GPTQ = {"quant_method": "gptq", "bits": 4, "group_size": 128}
BLOCKS = {"quant_method": "fp8", "weight_block_size": [128, 128]}


def errors(config: dict[str, Any], **changes: Any) -> list[str]:
    """Return the codes of the errors on a config with such a checkpoint."""
    example = Example(config=config, checkpoint=facts(**changes))
    report = examine(example.content, example.known).report
    assert report is not None
    return [each.code for each in report.findings if each.severity is Severity.ERROR]


@pytest.mark.parametrize(
    ("runtime", "kind", "stored", "expected"),
    [
        ("vllm", "T4", "compressed-tensors", []),
        ("vllm", "T4", "fp8", []),
        ("vllm", "T4", "modelopt", ["EH116"]),
        ("vllm", "T4", "nvfp4", []),
        ("vllm", "T4", "mxfp4", ["EH116"]),
        ("vllm", "A100", "modelopt", ["EH116"]),
        ("vllm", "L4", "modelopt", []),
        ("trtllm", "A100", "fp8", ["EH104"]),
        ("trtllm", "A100", "modelopt", ["EH104"]),
        ("trtllm", "A100", "nvfp4", ["EH105"]),
    ],
)
def test_a_stored_precision_that_the_gpu_lacks_is_said_once(
    runtime: str, kind: str, stored: str, expected: list[str]
) -> None:
    config = {"resources.accelerator": kind, "enginehouse.runtime": runtime}
    assert errors(config, quantization_config=STORED[stored]) == expected


def test_a_stored_precision_is_asked_of_the_version_that_the_hosts_run() -> None:
    def codes(version: str) -> set[str]:
        example = Example(
            config={"resources.accelerator": "A100", "enginehouse.runtime": "vllm"},
            checkpoint=facts(quantization_config=STORED["modelopt"]),
            versions=frozenset({("vllm", version)}),
        )
        report = examine(example.content, example.known).report
        assert report is not None
        return {each.code for each in report.findings}

    assert "EH116" in codes("0.26.1")
    assert "EH116" not in codes("0.27.1")


@pytest.mark.parametrize("quantization", [GPTQ, BLOCKS])
@pytest.mark.parametrize(
    ("width", "ranks", "expected"),
    [(14_335, 2, {"EH322"}), (29_568, 8, {"EH320", "EH330"}), (14_336, 8, set())],
)
def test_a_width_that_ranks_do_not_divide_is_not_also_a_cut_group(
    quantization: dict[str, Any], width: int, ranks: int, expected: set[str]
) -> None:
    outcome = errors(
        {
            "resources.accelerator": f"H100:{ranks}",
            "trt_llm.build.tensor_parallel_count": ranks,
            "enginehouse.runtime": "vllm",
        },
        quantization_config=quantization, intermediate_size=width, hidden_size=4096,
        num_attention_heads=32, num_key_value_heads=8, head_dim=128,
    )  # fmt: skip
    assert len(outcome) == (1 if expected else 0)
    assert set(outcome) <= expected
