"""The page of evidence is what the kept results make it."""

from benchmarks import evidence_faults
from benchmarks.evidence import PAGE, page
from benchmarks.gpu.stages import STAGES
from benchmarks.gpu.wanted import WANTED


def test_the_page_is_fresh() -> None:
    assert PAGE.read_text() == page(), "python benchmarks/evidence.py"


def test_what_has_no_result_is_listed_as_not_run() -> None:
    _, _, not_run = page().partition("## Not run yet")
    assert "TensorRT-LLM at all" in not_run
    assert "asked once" not in not_run


def test_every_stage_is_wanted_of_a_card() -> None:
    assert set(STAGES) <= set(WANTED)


def test_a_fault_is_told_with_what_was_said_and_how_long_it_took() -> None:
    said = {"code": "EHD-CARD-IN-USE", "sentence": "Card 0 is used by `a|b`."}
    row = {"done": "a stranger", "said": said, "said_after_seconds": 1.25,
           "recovered_after_seconds": 2.0, "recovered": "after its end"}  # fmt: skip
    found = {"faults": [row], "card": "H100", "date": "2026-11-28", "command": "run.sh"}
    page = evidence_faults.told("kill-h100-2026-11-28.json", found)
    assert "| `EHD-CARD-IN-USE`: Card 0 is used by `a\\|b`. | 1.2 s | 2.0 s after its end |" in page
