"""The page of evidence is what the kept results make it."""

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
