"""Public configs that truss 0.18.36 parses: the same verdict here, and no rule raises.

`data/public_shapes.jsonl` has the shape that the checkpoint of each is known to have: written down
from general knowledge of the families, with no hub at hand, not read from the files themselves. It
serves to run the rules that need a checkpoint; no test takes its numbers as facts about the model.
"""

from typing import Any

import pytest

from controlplane.domain.facts import checkpoints
from controlplane.domain.rules import Known, Severity, examine
from controlplane.domain.rules.examples import EVERY_KIND
from tests.domain.cases import as_config_json, as_config_yaml, lines

CASES = lines("truss_configs.jsonl")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_a_public_config_gets_the_verdict_that_truss_gives(case: dict[str, Any]) -> None:
    config = as_config_yaml(case["facts"])
    secrets = frozenset(config["secrets"])
    examination = examine(config, Known(secret_names=secrets, devices=EVERY_KIND))
    assert examination.spec is not None, examination.errors
    errors = {f.code for f in examination.report.findings if f.severity is Severity.ERROR}
    accepted = case["truss_0_18_36"] == "valid"
    assert (not errors) == accepted, errors


SHAPES = {row["repo"]: row["config"] for row in lines("public_shapes.jsonl")}
NO_CLASS_HERE = {"truss-140": {"EH689"}}
"""JinaBert: the hosted engine has a class of it; neither vLLM nor the native engine has one."""
WITH_SHAPES = [case for case in CASES if case["facts"].get("model_repo") in SHAPES]


@pytest.mark.parametrize("case", WITH_SHAPES, ids=lambda case: case["id"])
def test_a_public_config_that_is_built_has_no_error_with_its_checkpoint_either(
    case: dict[str, Any],
) -> None:
    config = as_config_yaml(case["facts"])
    facts = checkpoints.read(SHAPES[case["facts"]["model_repo"]], has_chat_template=True)
    known = Known(checkpoint=facts, secret_names=frozenset(config["secrets"]), devices=EVERY_KIND)
    findings = examine(config, known).report.findings
    errors = {f.code for f in findings if f.severity is Severity.ERROR}
    if case["id"] in NO_CLASS_HERE:
        assert errors == NO_CLASS_HERE[case["id"]]
        return
    assert (not errors) == (case["truss_0_18_36"] == "valid"), errors


@pytest.mark.wide
@pytest.mark.parametrize("case", lines("hf_configs.jsonl"), ids=lambda case: case["id"])
def test_no_rule_raises_on_a_public_checkpoint_in_the_stack_that_takes_it(
    case: dict[str, Any],
) -> None:
    facts = checkpoints.read(as_config_json(case["facts"]))
    build = {"checkpoint_repository": {"source": "LOCAL", "repo": "/x"}}
    engine = {"inference_stack": "v2", "build": build, "runtime": {}}
    if facts.engine.stack != "v2":
        engine = {"build": {**build, "base_model": facts.engine.base_model or "decoder"}}
    known = Known(checkpoint=facts, secret_names=frozenset(), devices=EVERY_KIND)
    examination = examine({"resources": {"accelerator": "B200"}, "trt_llm": engine}, known)
    assert examination.spec is not None
    assert examination.report.waiting == ()


def test_the_withdrawn_draft_mode_is_refused_with_a_conversion() -> None:
    case = next(case for case in CASES if case["truss_0_18_36"] == "rejected")
    examination = examine(as_config_yaml(case["facts"]), Known(devices=EVERY_KIND))
    finding = next(f for f in examination.report.findings if f.code == "EH903")
    assert finding.fix is not None
