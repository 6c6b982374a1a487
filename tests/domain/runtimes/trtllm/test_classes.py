"""The tables of TensorRT-LLM's classes and formats say what the checks say."""

import re

import pytest

from controlplane.domain.rules import examine
from controlplane.domain.rules.examples import Example, facts, on_trtllm
from controlplane.domain.rules.rule import Severity
from controlplane.domain.runtimes.trtllm.classes import tables_by_class

DEVICES = ("A100", "L4", "H100", "B200")
TEXT = "".join(tables_by_class(DEVICES))
STORED = {
    "ModelOpt FP8": {"quant_method": "modelopt", "quant_algo": "FP8"},
    "FP8 in blocks": {"quant_method": "fp8", "weight_block_size": [128, 128]},
    "ModelOpt SmoothQuant": {"quant_method": "modelopt", "quant_algo": "W8A8_SQ_PER_CHANNEL"},
    "AWQ": {"quant_method": "awq", "bits": 4},
}


def cells(name: str) -> list[str]:
    (row,) = re.findall(rf"^\| `?{re.escape(name)}`? \| (.*) \|$", TEXT, flags=re.MULTILINE)
    return [str(cell) for cell in row.split(" | ")]


@pytest.mark.parametrize("name", STORED)
def test_a_format_is_refused_in_the_table_where_a_check_blocks_it(name: str) -> None:
    checkpoint = facts(quantization_config=STORED[name])
    for kind, cell in zip(DEVICES, cells(name), strict=True):
        example = on_trtllm(Example(config={"resources.accelerator": kind}, checkpoint=checkpoint))
        report = examine(example.content, example.known).report
        assert report is not None
        blocked = [each for each in report.findings if each.severity is Severity.ERROR]
        assert (cell == "refused") is bool(blocked), (kind, blocked)


def test_a_class_says_which_drafts_and_gpus_it_takes() -> None:
    assert cells("Gemma3ForCausalLM")[:2] == ["no", "no"]
    assert cells("Qwen3MoeForCausalLM")[:4] == ["no", "yes", "yes", "yes"]
    assert cells("DeepseekV4ForCausalLM")[-1] == "A100, L4, H100"
