"""Each claim of docs/security.md names the tests that hold it, and they exist.

A claim is a row of a table. Prose stands in sections that claim nothing, leads up to a table, or
names a test itself.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

TESTS = Path(__file__).parents[1]
PAGE = TESTS.parent / "docs" / "security.md"
_NAMED = re.compile(r"`([\w/]+\.py)::(\w+)`")
_RULE = re.compile(r"\|(-+\|)+")
_CLAIMS_NOTHING = frozenset({"What was audited", "What to do then", "What is not defended"})
_LONGEST_LEAD_LETTERS = 220


def _blocks() -> Iterator[tuple[str, str]]:
    """Yield section and text of each paragraph, list item and table; programs are left out."""
    section = ""
    text = re.sub(r"```.*?```", "", PAGE.read_text(), flags=re.DOTALL)
    for block in re.split(r"\n\s*\n|\n(?=- )", text):
        if block.startswith("#"):
            section = block.lstrip("# ").strip()
        elif block.strip():
            yield section, block.strip()


def _rows() -> Iterator[str]:
    for _, block in _blocks():
        if block.startswith("|"):
            head, rule, *rows = block.splitlines()
            assert head.endswith("| Held by |"), head
            assert _RULE.fullmatch(rule), rule
            yield from rows


@cache
def _tests_in(path: str) -> frozenset[str]:
    tree = ast.parse((TESTS / path).read_text())
    return frozenset(each.name for each in tree.body if isinstance(each, ast.FunctionDef))


def test_every_claim_names_a_test() -> None:
    rows = list(_rows())
    assert len(rows) > 70
    assert [row for row in rows if not _NAMED.search(row.rpartition(" | ")[2])] == []


def test_nothing_is_claimed_outside_the_tables_without_a_test() -> None:
    assert {section for section, _ in _blocks()} >= _CLAIMS_NOTHING
    assert [
        block
        for section, block in _blocks()
        if section not in _CLAIMS_NOTHING
        if not block.startswith("|")
        if not (block.endswith(":") and len(block) <= _LONGEST_LEAD_LETTERS)
        if not _NAMED.search(block)
    ] == []


def test_every_test_that_is_named_exists() -> None:
    named = _NAMED.findall(PAGE.read_text())
    assert [each for each in named if each[1] not in _tests_in(each[0])] == []
