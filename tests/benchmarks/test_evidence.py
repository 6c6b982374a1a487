"""The page of evidence is what the kept results make it."""

import json
import re

import pytest

from benchmarks import evidence_faults
from benchmarks.evidence import _SECTIONS, PAGE, RESULTS, page
from benchmarks.gpu.stages import STAGES
from benchmarks.gpu.wanted import WANTED
from benchmarks.memory_plan import report_plan


def test_the_page_is_fresh() -> None:
    assert PAGE.read_text() == page(), "python benchmarks/evidence.py"


def test_what_has_no_result_is_listed_as_not_run() -> None:
    _, _, not_run = page().partition("## Not run yet")
    assert "TensorRT-LLM at all" in not_run
    assert "asked once" not in not_run


def test_every_stage_is_wanted_of_a_device_and_has_a_section() -> None:
    assert set(STAGES) <= set(WANTED)
    assert set(STAGES) <= set(_SECTIONS)


def test_what_the_readme_says_of_the_gateway_is_what_was_kept() -> None:
    text = " ".join((PAGE.parents[1] / "README.md").read_text().split())
    match = re.search(r"the gateway costs at most ([\d.]+) % of vLLM's own rate", text)
    costs = [max(row["cost_percent"], row["cost_of_medians_percent"])
             for path in RESULTS.glob("large_speed-*.json")
             for row in json.loads(path.read_text())["rows"]]  # fmt: skip
    assert match is not None
    assert max(costs) <= float(match[1])


def test_what_the_readme_says_of_the_memory_plan_is_what_was_kept() -> None:
    text = " ".join((PAGE.parents[1] / "README.md").read_text().split())
    match = re.search(r"the memory plan is within ([\d.]+) % of what vLLM reports", text)
    entries = [each for path in RESULTS.glob("memory-*.json")
               for each in json.loads(path.read_text())]  # fmt: skip
    errors = [100 * abs(report_plan(each).kv_tokens / each["report"]["kv_tokens"] - 1)
              for each in entries]  # fmt: skip
    assert match is not None
    assert max(errors) <= float(match[1])


def test_a_fault_is_told_with_what_was_said_and_how_long_it_took() -> None:
    values = {"code": "EHD-CARD-IN-USE", "sentence": "GPU 0 is used by `a|b`."}
    row = {"done": "a stranger", "said": values, "said_after_seconds": 1.25,
           "recovered_after_seconds": 2.0, "recovered": "after its end"}  # fmt: skip
    outcome = {"faults": [row], "gpu": "H100", "date": "2026-11-28", "command": "run.sh"}
    page = evidence_faults.told("kill-h100-2026-11-28.json", outcome)
    assert "| `EHD-CARD-IN-USE`: GPU 0 is used by `a\\|b`. | 1.2 s | 2.0 s after its end |" in page


@pytest.mark.parametrize(
    ("dtype", "file"), [("float32", "engine_cpu"), ("bfloat16", "engine_cpu_bfloat16")]
)
def test_the_table_of_the_engine_on_a_cpu_is_of_its_kept_reports(dtype: str, file: str) -> None:
    content = json.loads((RESULTS / f"{file}-x86_64-2026-11-28.json").read_text())
    text = (PAGE.parents[1] / "benchmarks/README.md").read_text()
    for work in ("equal", "mixed"):
        rates = [f"{content[f'{work}_tokens_per_cpu_second_{each}']:.1f}"
                 for each in ("ours", "static", "continuous")]  # fmt: skip
        assert (
            f"| {dtype}, {work} | {' | '.join(rates)} | {content[f'{work}_ratio_cpu_static']:.2f} ("
            in text
        )
