"""The engine can be read part by part: no file is long, and the page says how long each part is."""

import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
ENGINE = ROOT / "workers" / "engine"
LONGEST_FILE = 200
TEXT_PARTS, MOST_TEXT_LINES = 6, 2800
"""The first rows: loading, cache, scheduling, sampling, grammar, adapters."""
TOLERANCE = 0.1
ROW = re.compile(r"^\| [^|]+ \| (?P<files>`[^|]+) \| (?P<lines>[\d,]+) \|$", re.MULTILINE)


def _parts() -> list[tuple[list[Path], int]]:
    """The files of each row of the page's table, and the lines that it gives them."""
    rows = ROW.findall((ROOT / "docs" / "engine.md").read_text())
    return [
        (
            [path for name in re.findall("`([^`]+)`", files) for path in ENGINE.glob(name)],
            int(lines.replace(",", "")),
        )
        for files, lines in rows
    ]


def _lines(path: Path) -> int:
    return len(path.read_text().splitlines())


def test_no_file_is_longer_than_a_reader_takes_in() -> None:
    long = {path.name: _lines(path) for path in ENGINE.rglob("*.py") if _lines(path) > LONGEST_FILE}
    assert long == {}


def test_every_file_belongs_to_one_part_of_the_page() -> None:
    named = Counter(path for files, _ in _parts() for path in files)
    assert {path for path in ENGINE.rglob("*.py") if path.parent != ENGINE or _lines(path)} == {
        *named
    }
    assert max(named.values()) == 1


def test_what_makes_text_is_still_small() -> None:
    assert sum(statement for _, statement in _parts()[:TEXT_PARTS]) <= MOST_TEXT_LINES


@pytest.mark.parametrize(("files", "said"), _parts(), ids=lambda each: str(each)[-8:])
def test_a_part_is_as_long_as_the_page_says(files: list[Path], said: int) -> None:
    assert sum(map(_lines, files)) == pytest.approx(said, rel=TOLERANCE)
