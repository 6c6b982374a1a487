"""A release names its public addresses; before the first one nobody invents any."""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
LABELS = {"Homepage", "Documentation", "Source", "Issues", "Changelog"}
PLACEHOLDER = "<address of this repository>"
PAGES = ("README.md", "CONTRIBUTING.md")
_DATED = re.compile(r"^## \d+\.\d+\.\d+ \(\d{4}-\d{2}-\d{2}\)$", re.MULTILINE)
UNRELEASED = "## 0.1.0 (unreleased)\n"
RELEASED = "## 0.1.0 (2027-01-31)\n"


def faults(changelog: str, pages: Mapping[str, str], urls: Mapping[str, str]) -> list[str]:
    """Return what keeps these from being released, or what they promise too early."""
    if not _DATED.search(changelog):
        return [f"`{label}` is an address before a release" for label in urls]
    absent = [f"[project.urls] has no `{label}`" for label in sorted(LABELS - urls.keys())]
    local = [label for label, url in urls.items() if not url.startswith("https://")]
    return [
        *absent,
        *(f"`{label}` is no public address" for label in local),
        *(f"{name} has {PLACEHOLDER}" for name, text in pages.items() if PLACEHOLDER in text),
    ]


def test_this_tree_says_where_it_lives_or_that_it_is_unreleased() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    pages = {name: (ROOT / name).read_text() for name in PAGES}
    assert faults((ROOT / "CHANGELOG.md").read_text(), pages, project.get("urls", {})) == []


@pytest.mark.parametrize(
    ("changelog", "page", "urls", "count"),
    [
        (UNRELEASED, PLACEHOLDER, {}, 0),
        (UNRELEASED, PLACEHOLDER, {"Homepage": "https://example.com"}, 1),
        (RELEASED, "", dict.fromkeys(LABELS, "https://example.com"), 0),
        (RELEASED, PLACEHOLDER, dict.fromkeys(LABELS, "https://example.com"), 1),
        (RELEASED, "", {"Homepage": "docs/index.md"}, 5),
    ],
)
def test_a_dated_changelog_asks_for_every_address(
    changelog: str, page: str, urls: dict[str, Any], count: int
) -> None:
    assert len(faults(changelog, {"README.md": page}, urls)) == count
