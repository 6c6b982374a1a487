"""What a page says of counts, and of what was not run, is what its source says today."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from benchmarks.evidence import page
from controlplane.domain.rules import ALL_RULES
from controlplane.domain.runtimes import trtllm

ROOT = Path(__file__).resolve().parents[2]
GENERATED = {"evidence.md", "failures.md", "rules.md", "runtimes.md", "settings.md"}
"""Held to their sources by tests of their own."""
PAGES = [
    *(ROOT / each for each in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
    *(each for each in (ROOT / "docs").rglob("*.md") if each.name not in GENERATED),
    *(ROOT / "contributing").glob("*.md"),
    ROOT / "benchmarks" / "README.md",
    ROOT / "examples" / "README.md",
]
NOT_RUN = re.compile(
    r"\b(?:not|never) (?:yet )?(?:been )?(?:run|seen)\b|\bunseen\b|\bnot tried\b", re.IGNORECASE
)
UPGRADE = re.compile(r"when you upgrade|after (?:each|an) upgrade", re.IGNORECASE)
_CODE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)


def _trtllm_was_not_run() -> bool:
    return not trtllm.capabilities.RUN_BY_US


def _evidence_lacks(thing: str) -> Callable[[], bool]:
    return lambda: thing in page().partition("## Not run yet")[2]


SOURCES: dict[str, Callable[[], bool]] = {
    "TensorRT-LLM at all": _evidence_lacks("TensorRT-LLM at all"),
    "a model served over two GPUs, pipeline parallel": _evidence_lacks(
        "a model served over two GPUs, pipeline parallel"
    ),
    "any of it on another GPU than an H200": _evidence_lacks("than NVIDIA H200"),
    "TensorRT-LLM (not yet run by us)": _trtllm_was_not_run,
    "TensorRT-LLM is checked and planned": _trtllm_was_not_run,
}
"""What pages say was not run, and whether that is so."""
OF_OTHER_THINGS = (
    "not seen to run by us on such a GPU",  # what the field `untested` means
    "never run without a grant",
    "containers themselves were not run there",  # what the named test covers
    "what was not run is `untested`",
    "nothing is said to run that was not run",
    "<!-- not run:",
    "and what was not",
    "EHQ-UNSEEN",  # a code of failures
)
_GENERAL = ROOT / "workers/build_steps/calibration/general.jsonl"
COUNTED: dict[str, int] = {
    "rules": len(ALL_RULES),
    "short texts": len(_GENERAL.read_text().splitlines()),
}


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences, rows of tables and items of lists of a page."""
    blocks = re.split(r"\n\s*\n|\n(?=[|#-])", _CODE.sub("", text))
    for block in blocks:
        yield from re.split(r"(?<=[.!?]) (?=[A-Z])", " ".join(block.split()))


def stale(text: str) -> list[str]:
    """Return the sentences of what was not run that no source holds."""
    return [each for each in sentences(text) if NOT_RUN.search(each) and not _holds(each)]


def _holds(sentence: str) -> bool:
    named = [holds for words, holds in SOURCES.items() if words in sentence]
    if named:
        return all(holds() for holds in named)
    return any(words in sentence for words in OF_OTHER_THINGS)


@pytest.mark.parametrize(
    "file",
    # What was not measured stands in those of `benchmarks/` beside its date.
    [page for page in PAGES if page.parent.name != "benchmarks"],
    ids=lambda file: str(file.relative_to(ROOT)),
)
def test_what_a_page_says_was_not_run_was_not(file: Path) -> None:
    assert stale(file.read_text()) == []


@pytest.mark.parametrize(
    "file", [*PAGES, ROOT / "CHANGELOG.md"], ids=lambda file: str(file.relative_to(ROOT))
)
def test_a_count_that_a_page_tells_is_the_count(file: Path) -> None:
    matches = re.findall(rf"\b(\d[\d,]*) ({'|'.join(COUNTED)})\b", file.read_text())
    assert [each for each in matches if int(each[0].replace(",", "")) != COUNTED[each[1]]] == []


def test_what_the_readme_says_was_not_run_is_the_list_of_the_evidence() -> None:
    (statement,) = re.findall(
        r"^Not run yet: (.+?)\.\n", (ROOT / "README.md").read_text(), re.M | re.S
    )
    parts = [" ".join(each.split()) for each in statement.split(";")]
    assert set(parts) <= SOURCES.keys()
    assert all(SOURCES[each]() for each in parts)


def test_no_page_speaks_of_an_upgrade_from_a_release_that_there_is_not() -> None:
    newest = re.search(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert newest is not None
    if newest[1] != "0.1.0 (unreleased)":
        pytest.skip("there is a release to come from")
    files = [*PAGES, ROOT / "CHANGELOG.md"]
    assert [str(file) for file in files if UPGRADE.search(file.read_text())] == []


def test_a_sentence_that_is_no_longer_true_would_be_noticed() -> None:
    assert stale("vLLM was not yet seen behind the gateway.")
    assert stale("This was never run.\n\n| a | TensorRT-LLM (not yet run by us) |") == [
        "This was never run."
    ]
