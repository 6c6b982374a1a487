"""Templates are read by people: no line is longer than a screen is wide."""

from pathlib import Path

ROOT = Path(__file__).parents[2] / "templates"
LONGEST = 140
PREFORMATTED = {"ui/_difference.html"}
"""Whose lines stand in a `pre`, where a line break is one."""


def test_no_line_is_longer_than_a_screen_is_wide() -> None:
    long = {
        str(path.relative_to(ROOT))
        for path in ROOT.rglob("*.html")
        if max(map(len, path.read_text().splitlines()), default=0) > LONGEST
    }
    assert long == PREFORMATTED
