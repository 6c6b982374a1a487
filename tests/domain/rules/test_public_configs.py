"""Public configs that truss 0.18.36 parses: the same verdict here, and no rule raises."""

from typing import Any

import pytest

from controlplane.domain.rules import Known, Severity, examine
from controlplane.domain.rules.examples import EVERY_KIND
from tests.domain.cases import as_config_yaml, lines

CASES = lines("truss_configs.jsonl")
NOT_YET = {"EH690"}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_a_public_config_gets_the_verdict_that_truss_gives(case: dict[str, Any]) -> None:
    config = as_config_yaml(case["facts"])
    secrets = frozenset(config["secrets"])
    examination = examine(config, Known(secret_names=secrets, cards=EVERY_KIND))
    assert examination.spec is not None, examination.errors
    errors = {f.code for f in examination.report.findings if f.severity is Severity.ERROR}
    accepted = case["truss_0_18_36"] == "valid"
    assert (not errors - NOT_YET) == accepted, errors


def test_the_withdrawn_draft_mode_is_refused_with_a_conversion() -> None:
    case = next(case for case in CASES if case["truss_0_18_36"] == "rejected")
    examination = examine(as_config_yaml(case["facts"]), Known(cards=EVERY_KIND))
    finding = next(f for f in examination.report.findings if f.code == "EH903")
    assert finding.fix is not None
