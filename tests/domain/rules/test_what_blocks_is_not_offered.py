"""A runtime whose rule blocks a model on a GPU is none that is chosen or offered for it."""

import pytest

from controlplane.domain.rules import ALL_RULES, examine
from controlplane.domain.rules.context import Context, context_of
from controlplane.domain.rules.rule import Rule, Severity
from controlplane.domain.runtimes.choice import able_runtimes

_OF_THE_PAIR = {
    "resources.accelerator", "trt_llm.build.checkpoint_repository.repo",
    "trt_llm.build.base_model", "enginehouse.runtime",
}  # fmt: skip
_BY_THE_NUMBERS_OF_A_FILE = {"EH833", "EH834", "EH835", "EH836"}
"""They go by a version and a method, which GPU fit asks the rules themselves about."""
_OF_ITS_WEIGHTS = {"EH662", "EH690"}
"""They say what a file or this release lacks, whatever the GPU."""


def _blocks_a_pair(rule: Rule) -> bool:
    marked = {*_context(rule)[1]}
    return marked <= _OF_THE_PAIR and rule.code not in _BY_THE_NUMBERS_OF_A_FILE | _OF_ITS_WEIGHTS


def _context(rule: Rule) -> tuple[Context, tuple[str, ...]]:
    examination = examine(rule.bad.content, rule.bad.known)
    assert examination.spec is not None
    assert examination.report is not None
    entry = next(each for each in examination.report.findings if each.code == rule.code)
    return context_of(examination.spec, rule.bad.known), entry.fields


_RULES = [
    rule for rule in ALL_RULES
    if rule.about_runtime and rule.severity is Severity.ERROR and _blocks_a_pair(rule)
]  # fmt: skip


def test_rules_of_runtimes_gpus_and_stored_formats_are_among_them() -> None:
    codes = {rule.code for rule in _RULES}
    assert codes >= {
        "EH104",
        "EH105",
        "EH116",
        "EH117",
        "EH655",
        "EH656",
        "EH669",
        "EH688",
        "EH693",
        "EH837",
        "EH838",
    }


@pytest.mark.parametrize("rule", _RULES, ids=lambda rule: rule.anchor)
def test_a_blocked_runtime_is_not_among_those_that_take_the_config(rule: Rule) -> None:
    context, _ = _context(rule)
    if context.spec.accelerator is not None:
        assert context.runtime not in [*able_runtimes(context.spec, context.known.checkpoint)]
