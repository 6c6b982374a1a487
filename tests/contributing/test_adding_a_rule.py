"""`contributing/adding_a_rule.md`, followed in a copy of the tree."""

from pathlib import Path

from tests.contributing.throwaway import copy_tree, not_as_listed

PAGE = "adding_a_rule"
MODULE = "controlplane/domain/rules/serving/names_and_lengths.py"
RULE = """THROWAWAY = Rule(
    code="EH699",
    name="throwaway",
    severity=Severity.HINT,
    fields=limit("max_seq_len"),
    concerns=_generates,
    when=lambda c: _asked(c) == 4097,
    message=lambda c: f"`max_seq_len` is {_asked(c)}; set it to 4096.",
    fix=Fix(label="Use 4096", patch=lambda c: {_SEQUENCE: 4096}, safe=False),
    source=sources.tensorrt_llm("nothing"),
    bad=Example(config={**_H100, _SEQUENCE: 4097}, checkpoint=LLAMA_8B),
    good=Example(config={**_H100, _SEQUENCE: 4096}, checkpoint=LLAMA_8B),
)

"""
TESTS = (
    "tests/domain/rules/test_rules_by_their_own_examples.py",
    "tests/domain/rules/test_examine.py",
    "tests/domain/config_reference",
)


def test_a_rule_takes_the_files_of_its_page_and_proves_itself(tmp_path: Path) -> None:
    copy = copy_tree(tmp_path)
    copy.put(MODULE, RULE, before="RULES = (\n")
    copy.put(MODULE, " THROWAWAY,", after="RULES = (\n   ")
    copy.put("CHANGELOG.md", "- A hint about nothing.\n", after="### Configs and checks\n\n")
    copy.manage("write_rule_reference")
    copy.manage("write_config_reference")
    assert not_as_listed(PAGE, copy.changed()) == []
    assert "### EH699 throwaway" in (tmp_path / "docs/rules.md").read_text()
    copy.test(*TESTS)
