"""No two findings on one config advise against each other, whatever their severity."""

from functools import cache
from itertools import combinations

import pytest
from hypothesis import Phase, given, settings

from controlplane.domain.rules import ALL_RULES, Finding, Known
from controlplane.domain.rules.examples import BERT, EVERY_KIND, LLAMA_8B, QWEN2_7B
from controlplane.domain.rules.trials import State
from tests.domain.cases import as_config_yaml, lines
from tests.domain.rules.fix_search import shown, state_of
from tests.domain.rules.test_fix_search import RUNTIMES, any_config, any_known
from tests.examples import examples
from tests.in_turn import each_in_turn

pytestmark = pytest.mark.wide
CONFIGS = lines("truss_configs.jsonl")
_MODELS = {"Llama": LLAMA_8B, "Qwen2": QWEN2_7B, "BERT": BERT}


def undone(state: State) -> list[str]:
    """Return each fix after which another finding offers to take it back."""
    entries = []
    for finding in _fixable(state):
        after = _after(state, finding)
        if after.parsed.data == state.parsed.data:
            continue
        entries += [
            f"{finding.code} {finding.fix and finding.fix.label}: taken back by {other.code}"
            for other in _fixable(after)
            if _after(after, other).parsed.data == state.parsed.data
            and _is_shown(state, finding)
            and _is_shown(after, other)
        ]
    return entries


def opposed(state: State) -> list[str]:
    """Return pairs that want one switch both on and off, or of which one brings the other back."""
    entries = []
    for one, other in combinations(_fixable(state), 2):
        shared = _patch(one).keys() & _patch(other).keys()
        switched = [path for path in shared if {_patch(one)[path], _patch(other)[path]} <= _BOTH]
        if any(_patch(one)[path] is not _patch(other)[path] for path in switched):
            entries.append(f"{one.code} and {other.code}: {switched}")
        if shared and (_comes_back(state, one, other) or _comes_back(state, other, one)):
            entries.append(f"{one.code} and {other.code} bring each other back")
    return entries


_BOTH = {True, False}


def _comes_back(state: State, first: Finding, second: Finding) -> bool:
    """Return whether mending the second brings back the first, which was mended before."""
    once = _after(state, first)
    left = [each for each in _fixable(once) if each.code == second.code]
    if any(each.code == first.code for each in once.report.findings) or not left:
        return False
    twice = _after(once, left[0])
    if all(each.code != first.code for each in twice.report.findings):
        return False
    return _is_shown(state, first) and _is_shown(once, left[0])


def _is_shown(state: State, finding: Finding) -> bool:
    """Return whether a person sees this fix, which is so where it was tried and holds."""
    return any(
        each.code == finding.code and each.fix and _patch(each) == _patch(finding)
        for each in shown(state)
    )


def _fixable(state: State) -> list[Finding]:
    return [each for each in state.report.findings if each.fix]


def _patch(finding: Finding) -> dict[str, object]:
    return {
        path: value if isinstance(value, bool) else repr(value)
        for path, value in (finding.fix.patch.items() if finding.fix else ())
    }


def _after(state: State, finding: Finding) -> State:
    assert finding.fix
    return state.after(finding.fix.patch)


@cache
def _of_rules() -> dict[str, State]:
    return {
        f"{rule.anchor} {name}": state_of(example.content, example.known)
        for rule in ALL_RULES
        for name, example in (("bad", rule.bad), ("good", rule.good))
    }


@cache
def _of_configs(runtime: str, model: str) -> dict[str, State]:
    known = Known(checkpoint=_MODELS[model], secret_names=frozenset(), devices=EVERY_KIND)
    chosen = {"enginehouse": {"runtime": runtime}}
    return {case["id"]: state_of(as_config_yaml(case["facts"]) | chosen, known) for case in CONFIGS}


of_each_model_and_runtime = pytest.mark.parametrize(
    ("runtime", "model"), each_in_turn(RUNTIMES, sorted(_MODELS))
)


def test_no_fix_of_a_rule_is_taken_back_by_another() -> None:
    assert {
        name: outcome for name, state in _of_rules().items() if (outcome := undone(state))
    } == {}


def test_no_two_findings_of_a_rule_oppose_each_other() -> None:
    assert {
        name: outcome for name, state in _of_rules().items() if (outcome := opposed(state))
    } == {}


@of_each_model_and_runtime
def test_no_fix_of_a_public_config_is_taken_back_by_another(runtime: str, model: str) -> None:
    states = _of_configs(runtime, model)
    assert {name: outcome for name, state in states.items() if (outcome := undone(state))} == {}


@of_each_model_and_runtime
def test_no_two_findings_of_a_public_config_oppose_each_other(runtime: str, model: str) -> None:
    states = _of_configs(runtime, model)
    assert {name: outcome for name, state in states.items() if (outcome := opposed(state))} == {}


@settings(examples(100), phases=[Phase.reuse, Phase.generate])
@given(any_config, any_known)
def test_findings_agree_whatever_is_changed(config: dict[str, object], known: Known) -> None:
    state = state_of(config, known)
    assert undone(state) == []
    assert opposed(state) == []
