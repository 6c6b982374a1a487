"""The documents lead to each other: the index names every page, no link leads nowhere."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
INDEX = ROOT / "docs" / "index.md"
PAGES = [
    *ROOT.glob("*.md"),
    *(ROOT / "docs").rglob("*.md"),
    *(ROOT / "contributing").glob("*.md"),
    ROOT / "benchmarks" / "README.md",
    ROOT / "examples" / "README.md",
]
_LINK = re.compile(r"(?<!!)\[[^\]]+\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")
_CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.DOTALL | re.MULTILINE)
_HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)


def links(page: Path) -> Iterator[str]:
    """Yield where a page leads within the repository."""
    for link, picture in _LINK.findall(_CODE.sub("", page.read_text())):
        target = link or picture
        if not target.startswith(("https://", "http://")):
            yield target


@cache
def anchors(page: Path) -> set[str]:
    """Return the anchors of the headings of a page."""
    headings = _HEADING.findall(_CODE.sub(_spoken, page.read_text()))
    return {re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in headings}


def _spoken(code: re.Match[str]) -> str:
    return "" if code[0].startswith("```") else code[0].strip("`")


def is_there(page: Path, target: str) -> bool:
    path, _, anchor = target.partition("#")
    led_to = (page.parent / path).resolve() if path else page
    return led_to.exists() and (not anchor or anchor in anchors(led_to))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    assert [each for each in links(page) if not is_there(page, each)] == []


def test_the_index_names_every_page_once() -> None:
    rows = re.findall(r"^\| \[[^\]]+\]\(([^)]+)\)", INDEX.read_text(), re.MULTILINE)
    named = sorted((INDEX.parent / each).resolve() for each in rows)
    assert named == sorted({*PAGES} - {INDEX, ROOT / "README.md"})


def test_a_link_to_nowhere_would_be_noticed() -> None:
    assert not is_there(INDEX, "nowhere.md")
    assert not is_there(INDEX, "security.md#nowhere")
    assert is_there(INDEX, "security.md#remote-code")
