"""The page of rules: all of them, and those that a search finds."""

import pytest

from controlplane.domain.rules import ALL_RULES
from tests.apps.pages import signed_in
from tests.factories import make_cast
from tests.folded import folded

pytestmark = pytest.mark.django_db


def test_every_rule_is_there_with_its_own_sentence() -> None:
    page = rules("")
    assert all(f'id="{rule.code}"' in page for rule in ALL_RULES)
    assert 'aria-current="page">Rules' in folded(page)


@pytest.mark.parametrize(
    ("search", "found", "left_out"),
    [("?q=eh102", "EH102", "EH101"), ("?q=EH10&severity=error", "EH101", "EH515")],
)
def test_a_search_leaves_the_rest_out(search: str, found: str, left_out: str) -> None:
    page = rules(search)
    assert f'id="{found}"' in page
    assert f'id="{left_out}"' not in page


def test_a_search_without_a_hit_says_so_and_echoes_text_only() -> None:
    page = rules("?q=<script>nothing")
    assert "No rule says that" in page
    assert "<script>nothing" not in page


def rules(search: str) -> str:
    """Return the page of a search."""
    answer = signed_in(make_cast().owner).get(f"/rules/{search}")
    assert answer.status_code == 200
    return str(answer.content.decode())
