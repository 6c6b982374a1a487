"""Where our verdict differs from truss 0.18.36's, there is a reason, and the docs list it.

The verdicts of truss are recorded in `data/truss_verdicts.jsonl` (parse and push check, 2026-11-28)
and `data/truss_configs.jsonl`; with the extra `bench` installed they are taken from truss again.
"""

import copy
import logging
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from controlplane.domain.rules import Known, Severity, examine
from controlplane.domain.rules.examples import EVERY_KIND
from tests.domain.cases import as_config_yaml, lines

ROWS = lines("truss_verdicts.jsonl")
PUBLIC = lines("truss_configs.jsonl")
DOCUMENT = Path(__file__).parents[3] / "docs" / "truss_differences.md"
THIS_RELEASE = {"EH690", "EH691", "EH651", "EH652", "EH663"}


def _errors(config: Mapping[str, Any], engine: str = "trtllm") -> list[str]:
    here = frozenset({engine})
    known = Known(secret_names=frozenset(), devices=EVERY_KIND, runtimes=here)
    findings = examine(config, known).report.findings
    codes = {finding.code for finding in findings if finding.severity is Severity.ERROR}
    return sorted(codes - THIS_RELEASE)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
def test_a_verdict_unlike_that_of_truss_has_a_reason_in_the_docs(row: dict[str, Any]) -> None:
    errors = _errors(row["config"])
    differs = bool(errors) == (row["truss_0_18_36"] == "valid")
    assert differs == bool(row["why"]), errors
    if differs:
        line = f"| {row['name']} | {', '.join(errors) or 'accepted'} | {row['why']} |"
        assert line in DOCUMENT.read_text(), line


def test_what_vllm_takes_beyond_the_hosted_products_engine_is_listed() -> None:
    more = [
        row["name"] for row in ROWS if _errors(row["config"]) and not _errors(row["config"], "vllm")
    ]
    assert f"Where hosts start vLLM, `auto` means it, and these pass too: {'; '.join(more)}." in (
        " ".join(DOCUMENT.read_text().split())
    )


def test_the_docs_list_no_difference_that_is_gone() -> None:
    listed = [
        line for line in DOCUMENT.read_text().splitlines() if "| EH" in line or "| accepted" in line
    ]
    assert len(listed) == sum(bool(row["why"]) for row in ROWS)


@pytest.mark.filterwarnings("ignore")
def test_truss_still_says_what_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    # With transformers at hand truss would ask the hub for every checkpoint, only to log advice.
    monkeypatch.setitem(sys.modules, "transformers", None)
    truss_config = pytest.importorskip(
        "truss.base.truss_config", reason="truss 0.18.36 is in the extra `bench` and not installed"
    )
    logging.getLogger("truss").setLevel(logging.CRITICAL)

    def verdict(config: dict[str, Any]) -> str:
        try:
            parsed = truss_config.TrussConfig.from_dict(copy.deepcopy(config))
            parsed.validate_forbid_extra()
        except ValueError:
            return "rejected"
        return "valid"

    assert [verdict(row["config"]) for row in ROWS] == [row["truss_0_18_36"] for row in ROWS]
    public = [verdict(as_config_yaml(case["facts"])) for case in PUBLIC]
    assert public == [case["truss_0_18_36"] for case in PUBLIC]
