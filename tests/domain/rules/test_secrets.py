"""Secrets of gated repositories: missing, unlisted, not stored, wrong; each has its own finding."""

import pytest

from controlplane.domain.failures import Blame, Failure
from controlplane.domain.rules import Known, examine, examine_with_fixes
from controlplane.domain.rules.examples import EVERY_KIND, LLAMA_8B
from controlplane.domain.spec import parse_mapping

GATED, OPEN = "meta-llama/Llama-3.1-8B-Instruct", "Qwen/Qwen3-8B"
REFUSED = Failure(
    code="EHF-GATED", blame=Blame.CONFIGURATION, sentence="The licence is not accepted.",
    hint="Accept it on its page.",
)  # fmt: skip
WRONG = Failure(
    code="EHF-TOKEN", blame=Blame.CONFIGURATION, sentence="The hub does not know this token.",
    hint="Store a valid one.",
)  # fmt: skip


@pytest.mark.parametrize(
    ("repo", "name", "listed", "stored", "failure", "expected"),
    [
        (OPEN, None, [], [], None, {}),
        (GATED, None, [], [], None, {}),
        (OPEN, None, [], [], REFUSED, {"EH802": "error"}),
        (OPEN, None, [], ["hf_access_token"], REFUSED, {"EH802": "error"}),
        (OPEN, "team_token", [], ["team_token"], REFUSED, {"EH803": "error"}),
        (GATED, None, ["hf_access_token"], [], None, {"EH804": "error"}),
        (GATED, None, ["hf_access_token"], ["hf_access_token"], None, {}),
        (GATED, "team_token", [], ["team_token"], None, {"EH803": "error"}),
        (OPEN, "team_token", ["hf_access_token"], ["hf_access_token"], None, {"EH803": "error"}),
        (GATED, "team_token", ["team_token"], ["team_token"], None, {}),
        (GATED, None, ["hf_access_token"], ["hf_access_token"], REFUSED, {"EH801": "error"}),
        (GATED, None, ["hf_access_token"], ["hf_access_token"], WRONG, {"EH801": "error"}),
    ],
)  # fmt: skip
def test_each_trouble_with_a_secret_has_its_own_finding(
    repo: str, name: str | None, listed: list[str], stored: list[str], failure: Failure | None,
    expected: dict[str, str],
) -> None:  # fmt: skip
    repository = {"source": "HF", "repo": repo, **({"runtime_secret_name": name} if name else {})}
    config = {
        "resources": {"accelerator": "H100"},
        "secrets": dict.fromkeys(listed),
        "trt_llm": {"build": {"checkpoint_repository": repository, "max_seq_len": 4096}},
    }
    known = Known(
        checkpoint=None if failure else LLAMA_8B, checkpoint_failure=failure,
        secret_names=frozenset(stored), devices=EVERY_KIND,
    )  # fmt: skip
    findings = examine(config, known).report.findings
    assert {f.code: f.severity.value for f in findings if f.code[:4] == "EH80"} == expected
    for finding in findings:
        if finding.code == "EH801" and failure is not None:
            assert failure.sentence in finding.message
            assert (failure.hint or "") in finding.message


def test_a_folder_needs_no_secret() -> None:
    repository = {"source": "LOCAL", "repo": "/x", "runtime_secret_name": "team_token"}
    config = {"trt_llm": {"build": {"checkpoint_repository": repository}}}
    known = Known(checkpoint=LLAMA_8B, secret_names=frozenset(), devices=EVERY_KIND)
    assert not {f.code for f in examine(config, known).report.findings} & {"EH802", "EH803"}


@pytest.mark.parametrize(
    ("stored", "offers"), [(frozenset({"hf_access_token"}), True), (frozenset(), False)]
)
def test_the_stored_token_of_a_gated_repository_is_listed_by_one_press(
    stored: frozenset[str], offers: bool
) -> None:
    repository = {"source": "HF", "repo": OPEN}
    config = {"trt_llm": {"build": {"checkpoint_repository": repository}}}
    known = Known(checkpoint_failure=REFUSED, secret_names=stored, devices=EVERY_KIND)
    report = examine_with_fixes(parse_mapping(config), lambda _: known).report
    finding = next(each for each in report.findings if each.code == "EH802")
    assert (finding.fix is not None) is offers
    if finding.fix is not None:
        assert finding.fix.patch == {"secrets": {"hf_access_token": None}}
    else:
        assert "EH804" in (finding.no_fix or "")
