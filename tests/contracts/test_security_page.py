"""Each claim of docs/security.md names the tests that hold it, and they exist."""

import ast
import re
from functools import cache
from pathlib import Path

TESTS = Path(__file__).parents[1]
PAGE = TESTS.parent / "docs" / "security.md"
_NAMED = re.compile(r"`([\w/]+\.py)::(\w+)`")


def _claims() -> list[str]:
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    return [row for row in rows if not row.startswith("| Attack |")]


@cache
def _tests_in(path: str) -> frozenset[str]:
    tree = ast.parse((TESTS / path).read_text())
    return frozenset(each.name for each in tree.body if isinstance(each, ast.FunctionDef))


def test_every_claim_names_a_test() -> None:
    claims = _claims()
    assert len(claims) > 20
    assert [row for row in claims if not _NAMED.search(row.rpartition(" | ")[2])] == []


def test_every_test_that_is_named_exists() -> None:
    named = _NAMED.findall(PAGE.read_text())
    assert [each for each in named if each[1] not in _tests_in(each[0])] == []
