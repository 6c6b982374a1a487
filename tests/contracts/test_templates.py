"""Templates are read by people: no line is longer than a screen is wide."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2] / "templates"
LONGEST = 140
UNBREAKABLE = re.compile(r"\{%(?:(?!%\}).)*%\}|[\w-]+=\".*\"")
"""One tag of Django's, which takes no line break, or one attribute."""
PREFORMATTED = {"ui/_difference.html"}
"""Whose lines stand in a `pre`, where a line break is one."""


@pytest.mark.parametrize("path", sorted(ROOT.rglob("*.html")), ids=lambda path: path.name)
def test_no_line_is_longer_than_it_must_be(path: Path) -> None:
    lines = [line.strip() for line in path.read_text().splitlines() if len(line) > LONGEST]
    breakable = [line for line in lines if not UNBREAKABLE.fullmatch(line)]
    assert breakable == [] or str(path.relative_to(ROOT)) in PREFORMATTED
