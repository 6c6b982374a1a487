"""More GPUs of a kind are offered only where the runtime starts on it."""

from typing import Any

import pytest

from benchmarks import public_cases
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
    assert ("does not serve it there" in finding.message) is not is_offered


_REFUSES_THE_KIND = {"EH104", "EH105", "EH116", "EH117", "EH118", "EH656", "EH688"}
_ON_A_REFUSED_KIND = [
    case for case in public_cases.cases()
    if _REFUSES_THE_KIND & {*case["expected"].get("codes", ())}
]  # fmt: skip


@pytest.mark.parametrize("case", _ON_A_REFUSED_KIND, ids=lambda case: case["source"])
def test_no_fix_asks_for_more_of_a_kind_that_another_finding_refuses(case: dict[str, Any]) -> None:
    config = {"enginehouse.runtime": case["engine"], **case["config"]}
    example = Example(config=config, checkpoint=public_cases.checkpoint_of(case))
    findings = examine(example.content, example.known).report.findings
    kind = str(case["config"]["resources.accelerator"]).partition(":")[0]
    if not _REFUSES_THE_KIND & {each.code for each in findings}:
        return
    patches = [each.fix.patch for each in findings if each.fix]
    entries = [
        patch["resources.accelerator"] for patch in patches
        if "resources.accelerator" in patch and "enginehouse.runtime" not in patch
    ]  # fmt: skip
    assert not [each for each in entries if str(each).partition(":")[0] == kind]
