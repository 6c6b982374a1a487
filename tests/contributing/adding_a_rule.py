"""What `contributing/adding_a_rule.md` says of a hint about nothing."""

from tests.contributing.throwaway import Change, Copy

MODULE = "controlplane/domain/rules/serving/names_and_lengths.py"
RULE = """POINTLESS = Rule(
    code="EH699",
    name="pointless",
    severity=Severity.HINT,
    fields=limit("max_seq_len"),
    concerns=generates,
    when=lambda c: _length_tokens(c) == 4097,
    message=lambda c: f"`max_seq_len` is {_length_tokens(c)}; set it to 4096.",
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


def _follow(copy: Copy) -> None:
    copy.put(MODULE, RULE, before="STRETCHED = Rule(\n")
    copy.put("CHANGELOG.md", "- A hint about nothing.\n", after="### Configs and checks\n\n")


CHANGES = (
    Change(
        page="adding_a_rule",
        of="a rule",
        follow=_follow,
        commands=("write_rule_reference", "write_config_reference"),
        tests=TESTS,
    ),
)
