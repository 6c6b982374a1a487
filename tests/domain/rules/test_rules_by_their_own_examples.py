"""Each rule proves itself: it fires on its bad example only, and its own fix ends it."""

import pytest
import yaml

from controlplane.domain.rules import ALL_RULES, FAMILIES, Examination, Known, Rule, examine
from controlplane.domain.rules.examples import Example
from controlplane.domain.spec.edit import edit_yaml
from tests.every_case import every_case


def _examine(example: Example, text: str | None = None) -> Examination:
    return examine(text or yaml.safe_dump(example.content), example.known)


def _codes(examination: Examination) -> set[str]:
    assert examination.spec is not None, examination.errors
    return {finding.code for finding in examination.report.findings}


@pytest.mark.parametrize("rule", ALL_RULES, ids=lambda rule: rule.anchor)
def test_a_rule_fires_stays_silent_and_its_fix_removes_it(rule: Rule) -> None:
    bad, good = _examine(rule.bad), _examine(rule.good)
    assert rule.code in _codes(bad)
    assert rule.code not in _codes(good)
    finding = next(outcome for outcome in bad.report.findings if outcome.code == rule.code)
    assert finding.severity is rule.severity
    assert finding.message.endswith((".", "?"))
    assert "None" not in finding.message
    assert finding.fields
    if finding.fix is not None:
        mended = edit_yaml(yaml.safe_dump(rule.bad.content), finding.fix.patch)
        assert rule.code not in _codes(_examine(rule.bad, mended))
    assert (rule.fix is None) or finding.fix is not None or rule.code == "EH801"


@every_case("rule", ALL_RULES, ids=lambda rule: rule.anchor)
def test_a_rule_waits_while_a_fact_that_it_needs_is_missing(rule: Rule) -> None:
    examination = examine(rule.bad.content, Known(replicas=rule.bad.replicas))
    waiting = {waiting.code for waiting in examination.report.waiting}
    codes = {finding.code for finding in examination.report.findings}
    assert rule.code not in waiting & codes
    if rule.needs:
        assert rule.code in waiting or rule.code == "EH505"


def test_codes_are_unique_and_belong_to_the_families() -> None:
    codes = [rule.code for rule in ALL_RULES]
    assert len(codes) == len(set(codes))
    assert {code[:3] for code in codes} | {"EH0"} == set(FAMILIES)
    assert len({rule.name for rule in ALL_RULES}) == len(codes)
    assert len(codes) >= 120


def test_every_rule_has_a_dated_source() -> None:
    assert all(rule.source.checked.startswith("2026-") for rule in ALL_RULES)
