"""More GPUs of a kind are offered only where the runtime starts on it."""

import pytest

from controlplane.domain.rules import examine
from controlplane.domain.rules.examples import LLAMA_70B, Example


@pytest.mark.parametrize(("kind", "is_offered"), [("V100", False), ("A100", True)])
def test_more_gpus_are_offered_only_of_a_kind_that_serves(kind: str, is_offered: bool) -> None:
    config = {"resources.accelerator": kind, "enginehouse.runtime": "vllm"}
    example = Example(config=config, checkpoint=LLAMA_70B)
    findings = examine(example.content, example.known).report.findings
    finding = next(each for each in findings if each.code == "EH501")
    patch = finding.fix.patch if finding.fix else {}
    assert str(patch.get("resources.accelerator", "")).startswith(f"{kind}:") is is_offered
    assert ("does not start on this kind" in finding.message) is not is_offered
