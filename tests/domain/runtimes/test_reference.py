"""The page of runtimes is made of the tables that the checks read."""

from controlplane.domain.runtimes.reference import write_reference
from controlplane.management.commands.write_runtime_reference import REFERENCE


def test_the_page_of_runtimes_is_up_to_date() -> None:
    assert REFERENCE.read_text() == write_reference(), "run: manage.py write_runtime_reference"


def test_the_page_says_that_tensorrt_llm_is_not_yet_run_by_us() -> None:
    assert (
        "| `trtllm` | 1.2, 1.3, 1.4 | where a host is set up for it | not yet run by us |"
        in write_reference()
    )


def test_the_page_says_which_vllm_was_seen_and_where() -> None:
    assert "behind the gateway on one H200, 2026-11-28 |" in write_reference()
    assert list((REFERENCE.parents[1] / "benchmarks/results").glob("ask-h200-2026-11-28.json"))
