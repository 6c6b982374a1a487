"""Paging by cursor visits every row once, while rows come and go."""

import base64
import json
from typing import Any

import pytest
from rest_framework import serializers

from apps.accounts.models import AuditEntry
from apps.configs.models import Config
from apps.rest.errors import InvalidInput
from apps.rest.paging import page_of
from tests.factories import make_config, make_team

pytestmark = pytest.mark.django_db


class ConfigName(serializers.Serializer[Config]):
    name = serializers.CharField()


def test_pages_cover_all_rows_newest_first_without_repeats() -> None:
    team = make_team()
    made = [make_config(team=team).id for _ in range(7)]
    seen: list[str] = []
    cursor = None
    for length in (3, 3, 1):
        page = page_of(Config.objects.filter(team=team), limit=3, cursor=cursor)
        assert len(page.rows) == length
        seen += [row.id for row in page.rows]
        cursor = page.cursor
        make_config(team=team)
    assert seen == made[::-1]
    assert cursor is None


def test_rows_of_the_same_moment_are_split_by_id() -> None:
    team = make_team()
    configs = [make_config(team=team) for _ in range(4)]
    Config.objects.filter(team=team).update(created_at=configs[0].created_at)
    first = page_of(Config.objects.filter(team=team), limit=2)
    second = page_of(Config.objects.filter(team=team), limit=2, cursor=first.cursor)
    assert {row.id for row in [*first.rows, *second.rows]} == {row.id for row in configs}


def test_a_full_last_page_says_that_there_is_no_more() -> None:
    team = make_team()
    make_config(team=team)
    page = page_of(Config.objects.filter(team=team), limit=1)
    assert page.to_json(ConfigName)["pagination"] == {"has_more": False, "cursor": None}


@pytest.mark.parametrize("cursor", ["x", "e30=", "WyJhIiwgMV0=", "bnVsbA==", "WzEsMl0=", "ü"])
def test_a_made_up_cursor_is_refused(cursor: str) -> None:
    with pytest.raises(InvalidInput, match="did not come from this list"):
        page_of(Config.objects.all(), cursor=cursor)


@pytest.mark.parametrize(
    "place", [["2026-11-27T10:00:00+00:00", "x"], ["2026-11-27T10:00:00+00:00", None], ["x", 1]]
)
def test_a_cursor_whose_parts_fit_no_column_is_refused(place: list[Any]) -> None:
    with pytest.raises(InvalidInput, match="did not come from this list"):
        page_of(AuditEntry.objects.all(), by="-at", cursor=cursor_of(place))


@pytest.mark.parametrize("name", ["\x00", "\ud800", 1.5, None, []])
def test_a_cursor_with_text_that_no_name_has_is_refused(name: Any) -> None:
    with pytest.raises(InvalidInput, match="did not come from this list"):
        page_of(Config.objects.all(), by="name", cursor=cursor_of([name, "a"]))


def test_a_cursor_that_is_deeper_than_any_reader_goes_is_refused() -> None:
    deep = base64.urlsafe_b64encode(b"[" * 1_500).decode()
    with pytest.raises(InvalidInput, match="did not come from this list"):
        page_of(Config.objects.all(), cursor=deep)


def test_a_number_that_no_key_can_be_leads_to_an_end() -> None:
    place = cursor_of(["2000-01-01T00:00:00+00:00", 10**30])
    assert page_of(AuditEntry.objects.all(), by="-at", cursor=place).rows == []


def cursor_of(place: list[Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(place).encode()).decode()
